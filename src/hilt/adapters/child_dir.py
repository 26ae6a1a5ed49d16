"""Definitions of child agents in one directory: NAME.md defines the agent NAME."""

import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from hilt.core.child_definition import (
    DEFINITION_MAX_BYTES,
    ChildDefinition,
    parse_definition,
    valid_definition_name,
)
from hilt.core.errors import ConfigError

logger = logging.getLogger(__name__)

SUFFIX = ".md"


def read_definitions(root: Path, *, label: str) -> Mapping[str, ChildDefinition]:
    """Return the definitions of a directory as they are now, by name; `label` names the directory in messages.

    A file that cannot be read is left out with a WARN that names it.

    Raises:
        OSError: The directory cannot be listed.
    """
    found: dict[str, ChildDefinition] = {}
    for file in definition_files(root):
        place = f"{label}/{file.name}"
        try:
            found[file.stem] = parse_definition(_read(file), name=file.stem, place=place)
        except (ConfigError, OSError, ValueError) as exc:
            logger.warning("agent_definition_left_out file=%s why=%s", place, _why(exc))
    return found


def definition_files(root: Path) -> list[Path]:
    """Return the files of a directory that define agents, sorted by name."""
    return sorted(
        path for path in root.iterdir() if path.suffix == SUFFIX and valid_definition_name(path.stem) and path.is_file()
    )


def _read(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        content = file.read(DEFINITION_MAX_BYTES + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    if len(content) > DEFINITION_MAX_BYTES:
        raise ValueError(f"it is over {DEFINITION_MAX_BYTES} bytes")
    return content.decode("utf-8")


def _why(exc: Exception) -> object:
    match exc:
        case ConfigError():
            return f"line {exc.line}: {exc.reason}" if exc.line else exc.reason
        case OSError():
            return exc.strerror
        case UnicodeDecodeError():
            return "it is not UTF-8 text"
        case _:
            return exc
