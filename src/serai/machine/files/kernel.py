"""What the system can do and Python does not offer: through the C library, where it has it.

Each of these has an answer for systems that cannot: "not known", or the nearest safe thing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["born", "is_window", "rename_exclusively", "sync_file_system"]

_LINUX = sys.platform == "linux"
_library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None


def _function(name: str) -> Callable[..., int] | None:
    return getattr(_library, name, None) if _library is not None else None


# -- file systems that are windows into the kernel ---------------------------------------------------------

_WINDOWS = frozenset(
    {
        0x9FA0,  # proc
        0x62656572,  # sysfs
        0x1CD1,  # devpts
        0x27E0EB,  # cgroup
        0x63677270,  # cgroup2
        0x62656570,  # configfs
        0x64626720,  # debugfs
        0x74726163,  # tracefs
        0x73636673,  # securityfs
        0xCAFE4A11,  # bpf
        0xDE5E81E4,  # efivarfs
        0x6165676C,  # pstore
        0x65735543,  # fusectl
        0xF97CFF8C,  # selinuxfs
        0x43415D53,  # smackfs
        0x42494E4D,  # binfmt_misc
        0x6E736673,  # nsfs
        0x19800202,  # mqueue
        0x7655821,  # resctrl
    }
)
_fstatfs = _function("fstatfs") if _LINUX else None


def is_window(descriptor: int) -> bool:
    """Whether a file or directory is none on a disk but a view of the kernel: `/proc`, `/sys` and their like.

    Reading one tells about processes, writing one changes the machine, and its files say that they are
    regular.
    """
    if _fstatfs is None:
        return False
    buffer = ctypes.create_string_buffer(512)
    if _fstatfs(descriptor, buffer) != 0:
        return True  # what cannot say what it is, is not a file to read
    kind = ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF
    return kind in _WINDOWS


# -- renaming without replacing ----------------------------------------------------------------------------

_NOREPLACE = 1
_EXCL = 4
_UNABLE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
_rename: tuple[Callable[..., int], int] | None = None
for _name, _flag in (("renameat2", _NOREPLACE), ("renameatx_np", _EXCL)):
    if _found := _function(_name):
        _rename = (_found, _flag)


def rename_exclusively(source: str, destination: str, *, source_in: int, destination_in: int) -> None:
    """Rename within directories that are held open, and fail when there is something at the destination.

    Where the system has no such call, a file is linked and then unlinked, which is as safe. A directory is
    then looked for and renamed: in between, an *empty* directory of that name may be replaced, nothing else.

    Raises:
        FileExistsError: There is something.
        OSError: What `os.rename` raises.
    """
    if _rename is not None:
        call, flag = _rename
        old, new = os.fsencode(source), os.fsencode(destination)
        if call(source_in, old, destination_in, new, ctypes.c_uint(flag)) == 0:
            return
        number = ctypes.get_errno()
        if number not in _UNABLE:
            raise OSError(number, os.strerror(number), destination)
    _rename_with_care(source, destination, source_in, destination_in)


def _rename_with_care(source: str, destination: str, source_in: int, destination_in: int) -> None:
    if not stat.S_ISDIR(os.stat(source, dir_fd=source_in, follow_symlinks=False).st_mode):
        os.link(source, destination, src_dir_fd=source_in, dst_dir_fd=destination_in, follow_symlinks=False)
        os.unlink(source, dir_fd=source_in)
        return
    try:
        os.stat(destination, dir_fd=destination_in, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(source, destination, src_dir_fd=source_in, dst_dir_fd=destination_in)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), destination)


# -- making many files durable -----------------------------------------------------------------------------

_syncfs = _function("syncfs") if _LINUX else None


def sync_file_system(descriptor: int) -> None:
    """Put on the disk what was written to the file system of an open file or directory.

    Where the system cannot be asked for one file system, it is asked for all, and may still be at it then.

    Raises:
        OSError: Something could not be written.
    """
    if _syncfs is None:
        os.sync()
    elif _syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


# -- when a file was made ----------------------------------------------------------------------------------

_NOT_THE_TARGET = 0x100
_BIRTH = 0x800
_statx = _function("statx") if _LINUX else None


class _Statx(ctypes.Structure):
    """As much of the kernel's `struct statx` as is wanted here; its layout is fixed."""

    _fields_ = (
        ("mask", ctypes.c_uint32),
        ("before", ctypes.c_byte * 76),
        ("birth_seconds", ctypes.c_int64),
        ("birth_nanoseconds", ctypes.c_uint32),
        ("after", ctypes.c_byte * 164),
    )


def born(name: str, directory: int, info: os.stat_result) -> int | None:
    """When a file was made, in nanoseconds since 1970; `None` where that is not known."""
    told: Any = getattr(info, "st_birthtime", None)
    if told is not None:
        return int(told * 1_000_000_000)
    if _statx is None:
        return None
    answer = _Statx()
    failed = _statx(
        directory, os.fsencode(name), _NOT_THE_TARGET, ctypes.c_uint(_BIRTH), ctypes.byref(answer)
    )
    if failed or not answer.mask & _BIRTH:
        return None
    return answer.birth_seconds * 1_000_000_000 + answer.birth_nanoseconds
