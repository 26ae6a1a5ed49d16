"""What one run of an entry is started with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hilt.faults.log import Log
from hilt.faults.protocol import Era, Transport


class UsageError(Exception):
    """The entry cannot be run as asked; the text says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a server is started with; `starts` counts the starts that its log tells of, this one included."""

    entry: str
    transport: Transport
    eras: tuple[Era, ...]
    log: Log
    settings: Mapping[str, str] = field(default_factory=dict)
    starts: int = 1
    log_path: Path | None = None

    def text(self, name: str) -> str:
        """Return a setting."""
        return self.settings[name]

    def number(self, name: str) -> float:
        """Return a setting as a number."""
        return float(self.settings[name])

    def count(self, name: str) -> int:
        """Return a setting as a whole number."""
        return int(self.number(name))
