"""Opening files below a directory in one step that no link can lead out of.

Linux resolves and opens in one call (`openat2`), so that nothing can be swapped in between.
Elsewhere each part of the path is opened by itself without following links.
"""

import ctypes
import errno
import os
import sys
import weakref

_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_TRIES = 20
_RENAME_NOREPLACE = 1

DIRECTORY = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
"""Flags for a directory that others are opened from."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Beneath:
    """One root directory, held open; `path` is its real path. Paths are relative to it and hold no `..`."""

    def __init__(self, root: str, *, one_step: bool = True) -> None:
        """Open the root; `one_step` False walks part by part even where the kernel could do better.

        Raises:
            OSError: It cannot be opened as a directory.
        """
        self.path = os.path.realpath(root)
        self._fd = os.open(self.path, DIRECTORY)
        self._libc = _libc() if one_step else None
        self._finalizer = weakref.finalize(self, os.close, self._fd)

    def close(self) -> None:
        """Let the root go; nothing can be opened after that."""
        self._finalizer()

    def open(self, path: str, flags: int, *, links: bool = True) -> int:
        """Return a descriptor of `path`, `.` being the root itself.

        With `links`, links that are relative and stay inside are followed where the kernel can guard it.

        Raises:
            OSError: With EXDEV, ELOOP or ENOTDIR where a link is in the way or leads out.
        """
        if not self._finalizer.alive:  # the number may be another file's by now
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if self._libc is not None:
            opened = self._open_in_one_step(path, flags, links)
            if opened is not None:
                return opened
        return self._open_by_parts(path, flags)

    def _open_in_one_step(self, path: str, flags: int, links: bool) -> int | None:
        assert self._libc is not None  # noqa: S101 - the one caller has looked
        resolve = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | (0 if links else _RESOLVE_NO_SYMLINKS)
        how = _How(flags | os.O_CLOEXEC, 0, resolve)
        for _ in range(_TRIES):
            fd = self._libc.syscall(_OPENAT2, self._fd, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
            if fd >= 0:
                return int(fd)
            code = ctypes.get_errno()
            if code in (errno.ENOSYS, errno.EPERM):  # an old kernel, or a sandbox that knows no such call
                self._libc = None if code == errno.ENOSYS else self._libc
                return None
            if code not in (errno.EAGAIN, errno.EINTR):
                raise OSError(code, os.strerror(code))
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def _open_by_parts(self, path: str, flags: int) -> int:
        *parents, last = path.split("/")
        current = os.dup(self._fd)
        try:
            for part in parents:
                inner = os.open(part, DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
                os.close(current)
                current = inner
            return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
        finally:
            os.close(current)


def rename_new(source: str, source_fd: int, target: str, target_fd: int) -> None:
    """Rename without ever replacing what stands at the target.

    Raises:
        FileExistsError: Something stands there.
        OSError: The system refuses for another reason.
    """
    libc = _libc()
    if libc is not None and hasattr(libc, "renameat2"):
        done = libc.renameat2(source_fd, os.fsencode(source), target_fd, os.fsencode(target), _RENAME_NOREPLACE)
        if done == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.ENOSYS, errno.EINVAL):
            raise OSError(code, os.strerror(code))
    _rename_by_link(source, source_fd, target, target_fd)


def _rename_by_link(source: str, source_fd: int, target: str, target_fd: int) -> None:
    """Do it with a hard link, which never replaces; a directory cannot have one and is looked for first."""
    try:
        os.link(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd, follow_symlinks=False)
    except PermissionError:
        try:
            os.stat(target, dir_fd=target_fd, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
    os.unlink(source, dir_fd=source_fd)
