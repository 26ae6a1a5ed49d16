"""What adapters that keep one small file share: putting new content in its place in one step."""

import os
import tempfile
from pathlib import Path


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
