"""Lines that begin with `/`: the first source that knows the name says what the model gets in their place."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from hilt.core.command import CommandEntry
from hilt.core.errors import RequestError
from hilt.ports.command import Expander, Listing

EXPANSION_MAX_BYTES: Final = 100_000
_COMMAND: Final = re.compile(r"/[A-Za-z0-9_.-]+(?:\s|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCommand:
    """A command and those of the same name that it hides, the nearest first."""

    entry: CommandEntry
    shadows: tuple[CommandEntry, ...] = ()


class SlashCommands:
    """The sources of commands in their order: command files, skills, the host's, prompts of MCP servers."""

    def __init__(self, expanders: Sequence[Expander] = ()) -> None:
        self._expanders = tuple(expanders)

    def names(self) -> list[str]:
        """Return the names of all commands without the `/`, each once, in the order of the sources."""
        return list(dict.fromkeys(name for expander in self._expanders for name in expander.names()))

    def listing(self) -> list[ListedCommand]:
        """Return what all commands do, in the order of the sources, each with what it hides."""
        listed: dict[str, ListedCommand] = {}
        for expander in self._expanders:
            for entry in _entries(expander):
                first = listed.setdefault(entry.name, ListedCommand(entry=entry))
                if first.entry is not entry:
                    listed[entry.name] = replace(first, shadows=(*first.shadows, entry))
        return list(listed.values())

    async def expand(self, text: str) -> str | None:
        """Return what a line stands for, None where it is no command or nobody knows it.

        What was filled in is not expanded again. A source that knows the name and fails ends it: no other is asked.

        Raises:
            RequestError: It cannot be expanded; the text is for the person who typed it.
        """
        line = text.strip()
        if _COMMAND.match(line) is None:
            return None
        for expander in self._expanders:
            found = await expander.expand(line)
            if found is None:
                continue
            size = len(found.encode("utf-8", "surrogatepass"))
            if size > EXPANSION_MAX_BYTES:
                name = line.split(maxsplit=1)[0]
                raise RequestError(f"{name} gives {size} bytes; {EXPANSION_MAX_BYTES} are the most")
            return found
        return None


def _entries(expander: Expander) -> Sequence[CommandEntry]:
    if isinstance(expander, Listing):
        return expander.entries()
    return [CommandEntry(name=name, kind="source") for name in expander.names()]
