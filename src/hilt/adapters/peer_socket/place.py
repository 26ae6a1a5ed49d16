"""Takes a UNIX socket's path, and gives it back: a socket that a dead process left is replaced, a live one is not."""

import errno
import fcntl
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import SocketListener

from hilt.core.errors import ConfigError
from hilt.ports.peer import PlaceTakenError

MODE: Final = 0o600
LOCK_S: Final = 5.0
_POLL_S: Final = 0.01

Inode = tuple[int, int]


async def taken(path: str) -> tuple[SocketListener, Inode]:
    """Listen at a path that nobody else listens at; return the listener and which file its socket is.

    Raises:
        PlaceTakenError: Somebody listens there.
        ConfigError: It is something else than a socket, or the folder cannot be used.
    """
    async with _folder_locked(path):
        await _check_free(path)
        listener = await anyio.create_unix_listener(path, mode=MODE)
        return listener, _inode(os.lstat(path))


async def given_back(path: str, inode: Inode) -> None:
    """Remove the socket's file, if it is still the one that was made."""
    async with _folder_locked(path):
        try:
            if _inode(os.lstat(path)) == inode:
                os.unlink(path)
        except FileNotFoundError:
            return


@asynccontextmanager
async def _folder_locked(path: str) -> AsyncIterator[None]:
    """Hold the folder against other processes that take or give back a place in it; it leaves no file behind."""
    folder = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with anyio.fail_after(LOCK_S):
            while True:
                try:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await anyio.sleep(_POLL_S)
        yield
    finally:
        os.close(folder)


async def _check_free(path: str) -> None:
    try:
        state = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(state.st_mode):
        raise ConfigError("there is something else than a socket; choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        if probe.connect_ex(path) not in (errno.ECONNREFUSED, errno.ENOENT):
            raise PlaceTakenError("another process listens there")


def _inode(state: os.stat_result) -> Inode:
    return state.st_dev, state.st_ino
