"""Files that decide what may run or what is followed: changing one is at least asked, whatever rules and modes say."""

import re
from collections.abc import Sequence
from typing import Final

from hilt.core.permission import Subject

CHANGING_TOOLS: Final = frozenset({"Write", "Edit", "Copy", "Move", "Remove"})
"""The tools that change files by their paths."""

_PROTECTED: Final = re.compile(
    r"(?:.*/)?(?:\.git(?:/.*)?|\.hilt(?:/(?:settings[^/]*\.yaml|mcp\.toml|mcp\.lock|(?:skills|commands|agents)(?:/.*)?))?"
    r"|\.(?:agents|claude)(?:/(?:skills|commands)(?:/.*)?)?)\Z",
    re.DOTALL | re.IGNORECASE,
)


def protected(tool: str, subject: Subject, guarded: Sequence[str] = ()) -> bool:
    """Tell whether this call of the tool would touch a protected file, or a folder that holds one.

    `guarded` are further folders, spelled as paths are. Letter case is passed over, since it is on some disks; a
    repository within the workspace counts as well.
    """
    if tool not in CHANGING_TOOLS or subject.kind != "path":
        return False
    for path in (subject.text, *subject.also):
        if path == "." or _PROTECTED.match(path) is not None or any(_touches(path, folder) for folder in guarded):
            return True
    return False


def _touches(path: str, folder: str) -> bool:
    """Tell whether a path is the folder, lies in it, or holds it."""
    if folder == ".":  # the workspace itself: all that is spelled relative lies in it
        return not path.startswith(("/", "../"))
    mine, its = path.casefold() + "/", folder.casefold() + "/"
    return mine.startswith(its) or its.startswith(mine)
