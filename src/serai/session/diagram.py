"""A workflow as a picture: text for a terminal, and SVG."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from serai.session.workflow import Node, Workflow, chain

_MOST = 72
"""Characters of a line, at most."""


class _Box(NamedTuple):
    head: str
    lines: tuple[str, ...]


def as_text(workflow: Workflow) -> str:
    """The line of nodes from top to bottom. The workflow has no `problems`."""
    boxes = [_box(node) for node in chain(workflow)]
    drawn = ["\n".join([box.head, *(f"  {line}" for line in box.lines)]) for box in boxes]
    return f"{_title(workflow)}\n\n" + "\n  ↓\n".join(drawn) + "\n"


def as_svg(workflow: Workflow) -> str:
    """The same as an SVG file of its own."""
    width, line, gap, y = 640, 20, 28, 56
    drawn: list[str] = []
    for number, node in enumerate(chain(workflow)):
        box = _box(node)
        if number:
            drawn.append(
                f'<path d="M{width // 2} {y - gap}v{gap - 4}m-5 -6l5 6l5 -6" fill="none" stroke="#667"/>'
            )
        height = line * (1 + len(box.lines)) + 16
        drawn.append(
            f'<rect x="20" y="{y}" width="{width - 40}" height="{height}" rx="8" fill="#fff" stroke="#667"/>'
        )
        for row, text in enumerate((box.head, *box.lines)):
            weight = "" if row else ' font-weight="bold"'
            drawn.append(f'<text x="36" y="{y + 22 + line * row}"{weight}>{escape(text)}</text>')
        y += height + gap
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" viewBox="0 0 {width} {y}" '
        'font-family="sans-serif" font-size="14">\n'
        f'<rect width="{width}" height="{y}" fill="#f6f7f9"/>\n'
        f'<text x="20" y="36" font-size="18" font-weight="bold">{escape(_title(workflow))}</text>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def _title(workflow: Workflow) -> str:
    head = workflow.workflow
    return head.id if head.name == head.id else _short(f"{head.id}: {head.name}")


def _box(node: Node) -> _Box:
    head = f"{node.id} · {node.agent_ref}" if node.agent_ref else node.id
    lines = [_short(node.prompt_template)] if node.prompt_template.strip() else []
    if node.tools:
        lines.append(_short("tools: " + ", ".join(node.tools)))
    return _Box(_short(head), tuple(lines))


def _short(text: str) -> str:
    """Text as one line without signs that are none, cut where it is too long."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"
