"""What kind of content a file has: by its name, or else by how it begins.

Python's table knows the Internet's types, but takes a TypeScript file for a video and does not know most of
what a project is made of. The tables of the machine are not read: the answer is the same everywhere.
"""

from __future__ import annotations

import codecs
import mimetypes

__all__ = ["BEGINNING", "BINARY", "PLAIN", "content_type", "guessed_type"]

PLAIN = "text/plain"
BINARY = "application/octet-stream"

BEGINNING = 8_192
"""So many bytes of a file tell whether it is text."""

_types = mimetypes.MimeTypes()

_COMPRESSED = {
    "gzip": "application/gzip",
    "bzip2": "application/x-bzip2",
    "xz": "application/x-xz",
    "compress": "application/x-compress",
    "br": "application/x-brotli",
}
_TYPES = {
    "text/markdown": ".md .markdown .mdx .mdc",
    "text/typescript": ".ts .mts .cts .tsx",
    "text/javascript": ".js .mjs .cjs .jsx",
    "text/x-rust": ".rs",
    "text/x-go": ".go",
    "text/x-java": ".java",
    "text/x-kotlin": ".kt .kts",
    "text/x-swift": ".swift",
    "text/x-c": ".c .h",
    "text/x-c++": ".cc .cpp .cxx .hh .hpp .hxx",
    "text/x-csharp": ".cs",
    "text/x-ruby": ".rb",
    "text/x-php": ".php",
    "text/x-python": ".py .pyi",
    "text/x-lua": ".lua",
    "text/x-perl": ".pl .pm",
    "text/x-shellscript": ".sh .bash .zsh .fish",
    "text/x-diff": ".diff .patch",
    "text/x-sql": ".sql",
    "text/x-scss": ".scss .sass .less",
    "text/html": ".html .htm",
    "application/json": ".json",
    "application/jsonl": ".jsonl .ndjson",
    "application/jsonc": ".jsonc .json5",
    "application/toml": ".toml",
    "application/yaml": ".yaml .yml",
    "image/svg+xml": ".svg",
    "image/webp": ".webp",
    "image/avif": ".avif",
    "font/woff": ".woff",
    "font/woff2": ".woff2",
    "application/wasm": ".wasm",
    "application/zip": ".zip",
    PLAIN: ".txt .log .rst .cfg .conf .ini .env .lock .proto .gitignore .gitattributes .editorconfig",
}
_BY_ENDING = {ending: kind for kind, endings in _TYPES.items() for ending in endings.split()}
_PLAIN_NAMES = frozenset(
    {"makefile", "dockerfile", "containerfile", "license", "readme", "changelog", "authors", "codeowners"}
)


def content_type(name: str) -> str | None:
    """The content type of a file, by its name; `None` when the name does not tell."""
    lower = name.lower()
    dot = lower.rfind(".")
    ending = lower[dot:] if dot >= 0 else ""
    if known := _BY_ENDING.get(ending):
        return known
    if lower in _PLAIN_NAMES:
        return PLAIN
    guessed, compression = _types.guess_type(f"x{ending}" if ending else "x")
    return _COMPRESSED.get(compression, BINARY) if compression else guessed


def guessed_type(beginning: bytes) -> str:
    """The content type of what begins so, when no name tells: plain text or not.

    Args:
        beginning: The first `BEGINNING` bytes, or more; fewer only when that is all.
    """
    head = beginning[:BEGINNING]
    if b"\0" in head:
        return BINARY
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < BEGINNING)
    except UnicodeDecodeError:
        return BINARY
    return PLAIN
