"""What adapters that read or keep small files share: a read that waits for nothing, new content in one step."""

import os
import stat
import tempfile
from pathlib import Path

from hilt.core.errors import ConfigError


def read_regular(path: Path, limit: int) -> bytes:
    """Return up to `limit` bytes of a regular file; anything else is empty, without waiting for it.

    Raises:
        OSError: It cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        return file.read(limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def read_text(path: Path, limit: int) -> str:
    """Return the text of a regular file of at most `limit` bytes; anything else than a regular file is empty.

    Raises:
        OSError: It cannot be read.
        ValueError: It is longer, or no UTF-8.
    """
    content = read_regular(path, limit + 1)
    if len(content) > limit:
        raise ValueError(f"it is over {limit} bytes")
    return content.decode("utf-8")


def why_left_out(exc: Exception) -> object:
    """Return why a file was left out, as its warning says it: without its path."""
    match exc:
        case ConfigError():
            return f"line {exc.line}: {exc.reason}" if exc.line else exc.reason
        case OSError():
            return exc.strerror
        case UnicodeDecodeError():
            return "it is not UTF-8 text"
        case _:
            return exc


def replace_file(path: Path, content: bytes, *, new_mode: int = 0o600) -> None:
    """Replace a file in one step, keeping its mode, or make it with `new_mode`; its folder has to be there.

    At any moment there is the old content or the new, also after a crash; if anything fails, it is the old.

    Raises:
        OSError: It cannot be written.
    """
    real = path.resolve()
    mode = real.stat().st_mode & 0o777 if real.exists() else new_mode
    descriptor, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(name, real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
