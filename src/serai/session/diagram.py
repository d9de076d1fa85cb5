"""A workflow as a picture: text for a terminal, and SVG."""

from __future__ import annotations

from html import escape

from serai.session.workflow import Node, Workflow, chain

_MOST = 72
"""Longest line, in characters."""


def as_text(workflow: Workflow) -> str:
    """Draw the nodes from top to bottom, as text. The workflow has no `problems`."""
    drawn = ["\n  ".join(_lines(node)) for node in chain(workflow)]
    return f"{_title(workflow)}\n\n" + "\n  ↓\n".join(drawn) + "\n"


def as_svg(workflow: Workflow) -> str:
    """Draw the same as an SVG file."""
    width, line, gap, y = 640, 20, 28, 56
    drawn: list[str] = []
    for number, node in enumerate(chain(workflow)):
        lines = _lines(node)
        if number:
            drawn.append(
                f'<path d="M{width // 2} {y - gap}v{gap - 4}m-5 -6l5 6l5 -6" fill="none" stroke="#667"/>'
            )
        height = line * len(lines) + 16
        drawn.append(
            f'<rect x="20" y="{y}" width="{width - 40}" height="{height}" rx="8" fill="#fff" stroke="#667"/>'
        )
        for row, text in enumerate(lines):
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


def _lines(node: Node) -> list[str]:
    """Return the lines of a node's box; the first one is its head."""
    said = [f"{node.id} · {node.agent_ref}" if node.agent_ref else node.id]
    said += [node.prompt_template] if node.prompt_template.strip() else []
    said += ["tools: " + ", ".join(node.tools)] if node.tools else []
    return [_short(text) for text in said]


def _short(text: str) -> str:
    """Return text as one printable line, cut where it is too long."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"
