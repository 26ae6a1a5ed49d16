"""The category `files`: read, find and change files under the workspace."""

from hilt.builtins.files.copy import Copy
from hilt.builtins.files.edit import Edit
from hilt.builtins.files.glob import Glob
from hilt.builtins.files.grep import Grep
from hilt.builtins.files.list_dir import ListDir
from hilt.builtins.files.move import Move
from hilt.builtins.files.read import Read
from hilt.builtins.files.remove import Remove
from hilt.builtins.files.write import Write
from hilt.ports.tool import Tool

__all__ = [
    "Copy",
    "Edit",
    "Glob",
    "Grep",
    "ListDir",
    "Move",
    "Read",
    "Remove",
    "Write",
    "files_tools",
    "read_tools",
]


def read_tools() -> list[Tool]:
    """Return the tools of `files.read`, which change nothing."""
    return [Read(), ListDir(), Glob(), Grep()]


def files_tools() -> list[Tool]:
    """Return the tools of `files`."""
    return [*read_tools(), Write(), Edit(), Copy(), Move(), Remove()]
