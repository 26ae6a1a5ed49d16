"""What a line that begins with `/` may stand for."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from hilt.core.command import CommandEntry


class Expander(Protocol):
    """One source of commands: files, skills, the host's own, prompts of MCP servers."""

    def names(self) -> Sequence[str]:
        """Return the names of its commands without the `/`, as far as they are known without asking anybody."""
        ...

    async def expand(self, line: str) -> str | None:
        """Return what the line stands for, None where its name is not known here.

        `line` begins with `/` and a name.

        Raises:
            RequestError: The name is known and cannot be expanded; the text is for the person who typed it.
        """
        ...


@runtime_checkable
class Listing(Protocol):
    """An `Expander` that can say what its commands do."""

    def entries(self) -> Sequence[CommandEntry]:
        """Return its commands, in the order of `names`."""
        ...
