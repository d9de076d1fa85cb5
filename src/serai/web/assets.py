"""Serves the page: its start document, its modules and styles, its manifest and its service worker.

All of it is the same for everyone and tells nothing about this host, so none of it needs a token. The
address of an asset has the hash of the whole folder in it: relative imports work as they stand in the files,
a browser may keep what it has for ever, and a missing one is 404 and never the start page.
"""

from __future__ import annotations

import gzip
import hashlib
import secrets
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["Page"]

_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".webmanifest": "application/manifest+json",
}
"""What is served, by its ending; the rest of the folder is for those who write it."""
_LATER = ("js/workers/", "vendor/diff/", "vendor/highlight.js", "vendor/licences/", "vendor/xterm")
"""Modules that a view loads when it needs them: a browser is not told of them beforehand."""
_FOR_EVER = "public, max-age=31536000, immutable"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self' ws://{host} wss://{host}; worker-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class _Asset(NamedTuple):
    content: bytes
    compressed: bytes
    media_type: str


class Page:
    """The folder `page`, read when the first browser comes."""

    @property
    def routes(self) -> list[Route]:
        """Where it is served."""
        return [
            Route("/", self._start),
            Route("/assets/{version}/{path:path}", self._asset),
            Route("/manifest.webmanifest", self._manifest),
            Route("/service-worker.js", self._service_worker),
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
                elif (media_type := _TYPES.get(_ending(one))) is not None:
                    content = one.read_bytes()
                    found[path] = _Asset(content, gzip.compress(content, mtime=0), media_type)
        return found

    @cached_property
    def _document(self) -> str:
        """The start document, but for its nonce: with links to all that the start needs.

        Without them each module would wait for the one that imports it.
        """
        early = sorted(path for path in self._assets if not path.startswith(_LATER))
        styles = [path for path in early if path.startswith("css/")]
        modules = [path for path in early if path.endswith(".js") and "/" in path]
        links = [
            *(f'<link rel="stylesheet" href="{{assets}}/{path}" nonce="{{nonce}}">' for path in styles),
            *(f'<link rel="modulepreload" href="{{assets}}/{path}">' for path in modules),
        ]
        document = self._assets["index.html"].content.decode().replace("{links}", "\n".join(links))
        return document.replace("{assets}", f"/assets/{self.version}")

    async def _start(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        document = self._document.replace("{nonce}", nonce)
        # The guard has let only names of ours pass. `'self'` means WebSockets, too, but not to every browser.
        policy = _POLICY.format(nonce=nonce, host=request.headers["host"])
        return Response(document, media_type="text/html", headers={"Content-Security-Policy": policy})

    async def _asset(self, request: Request) -> Response:
        if request.path_params["version"] != self.version:
            raise HTTPException(404)
        return self._sent(request, request.path_params["path"], _FOR_EVER)

    async def _manifest(self, _request: Request) -> Response:
        return self._filled_in("manifest.webmanifest")

    async def _service_worker(self, _request: Request) -> Response:
        return self._filled_in("service-worker.js")

    def _filled_in(self, path: str) -> Response:
        """A file under an address of its own, with the addresses of the assets in it."""
        asset = self._assets[path]
        content = asset.content.decode().replace("{assets}", f"/assets/{self.version}")
        return Response(content, media_type=asset.media_type, headers={"Cache-Control": "no-cache"})

    def _sent(self, request: Request, path: str, cache_control: str) -> Response:
        asset = self._assets.get(path)
        if asset is None:
            raise HTTPException(404)
        headers = {"Cache-Control": cache_control, "Vary": "Accept-Encoding"}
        content = asset.content
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            content = asset.compressed
        return Response(content, media_type=asset.media_type, headers=headers)


def _ending(file: Traversable) -> str:
    return file.name[file.name.rfind(".") :]
