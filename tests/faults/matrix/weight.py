"""How much memory this process has, and how far it grew meanwhile."""

import gc
from pathlib import Path
from typing import Final

MIB: Final = 1 << 20
_STATUS: Final = Path("/proc/self/status")
_CLEAR: Final = Path("/proc/self/clear_refs")
_CLEAR_PEAK: Final = "5"


def resident() -> int:
    """Return the bytes of memory that the process has now."""
    return _bytes("VmRSS")


def _bytes(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


class Peak:
    """How far the memory of this process grows from here on, in bytes."""

    def __init__(self) -> None:
        gc.collect()
        _CLEAR.write_text(_CLEAR_PEAK)
        self._before = resident()

    @property
    def growth(self) -> int:
        """The most that it was above the start."""
        return _bytes("VmHWM") - self._before
