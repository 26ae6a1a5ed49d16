"""Definitions of child agents in one directory: NAME.md defines the agent NAME."""

import logging
from collections.abc import Mapping
from pathlib import Path

from hilt.adapters._files import read_text, why_left_out
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
            found[file.stem] = parse_definition(read_text(file, DEFINITION_MAX_BYTES), name=file.stem, place=place)
        except (ConfigError, OSError, ValueError) as exc:
            logger.warning("agent_definition_left_out file=%s why=%s", place, why_left_out(exc))
    return found


def definition_files(root: Path) -> list[Path]:
    """Return the files of a directory that define agents, sorted by name."""
    return sorted(
        path for path in root.iterdir() if path.suffix == SUFFIX and valid_definition_name(path.stem) and path.is_file()
    )
