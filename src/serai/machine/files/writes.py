"""`resourceWrite`: replaces a file as a whole, or adds to its end."""

from __future__ import annotations

import base64
import os
import stat

from serai.ahp.commands import ContentEncoding, EmptyResult, ResourceWriteMode, ResourceWriteParams
from serai.errors import InvalidParams
from serai.machine.draft import Draft, copy_range, write_all
from serai.machine.files.place import Place, etag, find
from serai.machine.files.refusals import client_errors, conflict, exists
from serai.machine.files.roots import Roots
from serai.machine.files.threads import locked_places, notes_folder


def write(params: ResourceWriteParams, roots: Roots) -> EmptyResult:
    """Write a file, and make it if it does not exist. A link is followed, and its target is written.

    `position` counts bytes, up to the size of the file. `truncate` and `insert` replace the file as a whole:
    readers see either the old or the new. `append` at the very end adds to the existing file, as POSIX
    appending does, so that no other program's lines are lost; all of the data is added or nothing.

    Raises:
        ProtocolError: `NOT_FOUND` when its directory does not exist, `PERMISSION_DENIED`, `ALREADY_EXISTS`
            for a directory, or with `createOnly` for anything; `CONFLICT` when the file is not the version
            that `ifMatch` names, or another program changed it during an insertion.
        InvalidParams: The data does not have the encoding, or mode or position are invalid.
    """
    data = _decoded(params)
    mode = _mode(params)
    position = params.position or 0
    if position < 0:
        raise InvalidParams("the position must not be negative", field="params.position")
    create_only = bool(params.create_only)
    with (
        find(params.uri, roots, write=True, follow=not create_only) as place,
        client_errors(params.uri),
        locked_places(place),
    ):
        info = place.look()
        if info is not None and (create_only or stat.S_ISDIR(info.st_mode)):
            raise exists(params.uri, "a directory" if stat.S_ISDIR(info.st_mode) else "something")
        if info is None:
            _write_new(place, data, params, exclusive=create_only or mode != ResourceWriteMode.TRUNCATE)
        elif mode == ResourceWriteMode.APPEND and position == 0:
            _append(place, data, params)
        else:
            _rewrite(place, data, params, mode, position)
    return EmptyResult()


def _mode(params: ResourceWriteParams) -> ResourceWriteMode:
    try:
        return ResourceWriteMode(params.mode or ResourceWriteMode.TRUNCATE)
    except ValueError:
        raise InvalidParams(f"there is no mode {params.mode!r}", field="params.mode") from None


def _decoded(params: ResourceWriteParams) -> bytes:
    try:
        match params.encoding:
            case ContentEncoding.UTF8:
                return params.data.encode()
            case ContentEncoding.BASE64:
                return base64.b64decode(params.data, validate=True)
            case other:
                raise InvalidParams(f"there is no encoding {other!r}", field="params.encoding")
    except ValueError:
        raise InvalidParams(f"the data is not {params.encoding}", field="params.data") from None


def _check_version(info: os.stat_result, params: ResourceWriteParams) -> None:
    if params.if_match is not None and etag(info) != params.if_match:
        raise conflict(params.uri, "is not the expected version")


def _write_new(place: Place, data: bytes, params: ResourceWriteParams, *, exclusive: bool) -> None:
    if params.if_match is not None:
        raise conflict(params.uri, "no longer exists")
    with Draft(place.here, place.name, notes=notes_folder()) as draft:
        write_all(draft.file(), data)
        draft.commit(exclusive=exclusive)


def _append(place: Place, data: bytes, params: ResourceWriteParams) -> None:
    descriptor, info = place.open(flags=os.O_RDWR | os.O_APPEND)
    try:
        _check_version(info, params)
        written = 0
        try:
            while written < len(data):
                written += os.write(descriptor, memoryview(data)[written:])
        except OSError:
            # Remove the part that was written, unless another program has added something meanwhile.
            if os.fstat(descriptor).st_size == info.st_size + written:
                os.ftruncate(descriptor, info.st_size)
            raise
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rewrite(
    place: Place, data: bytes, params: ResourceWriteParams, mode: ResourceWriteMode, position: int
) -> None:
    """Write the old content up to a point, the data, and except for `truncate` the old content after it."""
    # Opened for writing too, so that a file without write permission is not replaced.
    descriptor, info = place.open(flags=os.O_RDWR)
    try:
        _check_version(info, params)
        size = info.st_size
        cut = max(0, size - position) if mode == ResourceWriteMode.APPEND else min(position, size)
        with Draft(place.here, place.name, notes=notes_folder()) as draft:
            new = draft.file(like=descriptor)
            copy_range(descriptor, new, 0, cut)
            write_all(new, data)
            if mode != ResourceWriteMode.TRUNCATE:
                copy_range(descriptor, new, cut, size)
            now = place.look()
            builds_on_it = cut > 0 or mode != ResourceWriteMode.TRUNCATE or params.if_match is not None
            if builds_on_it and (now is None or etag(now) != etag(info)):
                raise conflict(params.uri, "was changed by another program meanwhile")
            draft.commit(exclusive=False)
    finally:
        os.close(descriptor)
