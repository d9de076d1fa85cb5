"""Serves the page: its start document, its modules and styles, its manifest and its service worker.

All of it is the same for everyone and tells nothing about this host, so none of it needs a token. The
address of an asset has the hash of the whole folder in it: relative imports work as they stand in the files,
a browser may keep what it has for ever, and a missing one is 404 and never the start page.
"""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
import secrets
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".webmanifest": "application/manifest+json",
}
"""The media types of served files, by their endings. Files with other endings are not served."""
_MAIN = "js/main.js"
_STYLES = "css/page.css"
"""The path of all styles of the folder `css` in one: one request instead of twenty."""
_IMPORTED = re.compile(
    r"""(?:^|[;}\s])(?:import|export)\s*(?:[\w*$\s{},]*\s*from\s*)?["'](\.{1,2}/[^"']+)["']"""
)
"""Pattern of the modules that a module imports at once, not of those that it loads later by `import(…)`."""
_FIRST = ("css/base.css", "css/variables.css")
_FOR_EVER = "public, max-age=31536000, immutable"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self' ws://{host} wss://{host}; worker-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class _Asset:
    content: bytes
    media_type: str

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.content, mtime=0)


class Page:
    """The folder `page`, read when the first browser comes."""

    @property
    def routes(self) -> list[Route]:
        """The routes of the page."""
        return [
            Route("/", self._start),
            Route("/assets/{version}/{path:path}", self._asset),
            Route("/manifest.webmanifest", self._filled_in),
            Route("/service-worker.js", self._filled_in),
        ]

    @cached_property
    def version(self) -> str:
        """The hash of all files together."""
        whole = hashlib.sha256()
        for path, asset in sorted(self._assets.items()):
            whole.update(f"{path}\0{len(asset.content)}\0".encode() + asset.content)
        return whole.hexdigest()[:16]

    @cached_property
    def _assets(self) -> dict[str, _Asset]:
        found: dict[str, _Asset] = {}
        folders = [("", files("serai.web") / "page")]
        while folders:
            prefix, folder = folders.pop()
            for one in folder.iterdir():
                path = f"{prefix}{one.name}"
                if one.is_dir():
                    folders.append((f"{path}/", one))
                elif (media_type := _TYPES.get(posixpath.splitext(one.name)[1])) is not None:
                    found[path] = _Asset(one.read_bytes(), media_type)
        # Variables and basic styles come first; the order of the others does not matter.
        order = sorted(
            (path for path in found if path.startswith("css/")), key=lambda path: (path not in _FIRST, path)
        )
        found[_STYLES] = _Asset(b"".join(found.pop(path).content for path in order), _TYPES[".css"])
        return found

    @cached_property
    def _document(self) -> str:
        """The start document without its nonce, with links to all that the start needs.

        Without them each module would wait for the one that imports it.
        """
        links = [f'<link rel="modulepreload" href="{{assets}}/{path}">' for path in self._needed_at_once()]
        document = self._assets["index.html"].content.decode().replace("{links}", "\n".join(links))
        return document.replace("{assets}", f"/assets/{self.version}")

    def _needed_at_once(self) -> list[str]:
        """Return the modules that the first one imports, and those that they import."""
        needed = [_MAIN]
        for path in needed:  # the list grows meanwhile
            for named in _IMPORTED.findall(self._assets[path].content.decode()):
                one = posixpath.normpath(posixpath.join(posixpath.dirname(path), named))
                if one not in needed:
                    needed.append(one)
        return needed

    async def _start(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        document = self._document.replace("{nonce}", nonce)
        # The guard has checked the host's name. Not every browser includes WebSockets in `'self'`.
        policy = _POLICY.format(nonce=nonce, host=request.headers["host"])
        return Response(document, media_type="text/html", headers={"Content-Security-Policy": policy})

    async def _asset(self, request: Request) -> Response:
        asset = self._assets.get(request.path_params["path"])
        if asset is None or request.path_params["version"] != self.version:
            raise HTTPException(404)
        headers = {"Cache-Control": _FOR_EVER, "Vary": "Accept-Encoding"}
        content = asset.content
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            content = asset.compressed
        return Response(content, media_type=asset.media_type, headers=headers)

    async def _filled_in(self, request: Request) -> Response:
        """Return a file under its own address, with the addresses of the assets in it."""
        asset = self._assets[request.url.path.strip("/")]
        content = asset.content.decode().replace("{assets}", f"/assets/{self.version}")
        return Response(content, media_type=asset.media_type, headers={"Cache-Control": "no-cache"})
