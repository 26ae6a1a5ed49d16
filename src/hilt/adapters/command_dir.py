"""Command files of one directory: NAME.md is `/NAME`; read once."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from hilt.adapters._files import read_text, why_left_out
from hilt.core.command import (
    COMMAND_FILE_MAX_BYTES,
    CommandEntry,
    CommandFile,
    command_parts,
    fill,
    parse_command,
    valid_command_name,
)
from hilt.core.errors import ConfigError, RequestError

logger = logging.getLogger(__name__)

SUFFIX = ".md"


class CommandDirectory:
    """The command files of a directory as they were when this was made; see `Expander`.

    `label` names the directory in messages. A file that cannot be read is left out with a WARN that names it.
    """

    def __init__(self, root: str | os.PathLike[str], *, label: str = "") -> None:
        """Read the files.

        Raises:
            OSError: The directory cannot be listed.
        """
        path = Path(root)
        self.label = label or path.name
        self._commands: dict[str, CommandFile] = {}
        for file in command_files(path):
            place = f"{self.label}/{file.name}"
            try:
                self._commands[file.stem] = parse_command(
                    read_text(file, COMMAND_FILE_MAX_BYTES), name=file.stem, place=place
                )
            except (ConfigError, OSError, ValueError) as exc:
                logger.warning("command_left_out file=%s why=%s", place, why_left_out(exc))

    def names(self) -> Sequence[str]:
        """See `Expander.names`; sorted."""
        return sorted(self._commands)

    def entries(self) -> Sequence[CommandEntry]:
        """See `Listing.entries`."""
        return [self._commands[name].entry for name in self.names()]

    async def expand(self, line: str) -> str | None:
        """See `Expander.expand`."""
        name, text = command_parts(line)
        found = self._commands.get(name)
        if found is None:
            return None
        if not found.template.strip():
            raise RequestError(f"/{name}: {found.entry.place} is empty")
        return fill(found.template, text)


def command_files(root: Path) -> list[Path]:
    """Return the files of a directory that are commands, sorted by name."""
    return sorted(
        path for path in root.iterdir() if path.suffix == SUFFIX and valid_command_name(path.stem) and path.is_file()
    )
