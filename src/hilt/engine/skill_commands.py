"""`/skill words`: a skill's instructions as the command of the person at the keyboard."""

from collections.abc import Sequence

from hilt.core.command import CommandEntry, command_parts, fill
from hilt.core.errors import HiltError, RequestError
from hilt.engine.skills import SkillBook


class SkillCommands:
    """The skills of an application as commands. See `Expander`."""

    def __init__(self, book: SkillBook) -> None:
        self._book = book

    def names(self) -> Sequence[str]:
        """See `Expander.names`."""
        return [found.meta.name for found in self._book.all]

    def entries(self) -> Sequence[CommandEntry]:
        """See `Listing.entries`."""
        return [
            CommandEntry(
                name=found.meta.name, kind="skill", description=found.meta.description, place=found.origin.place
            )
            for found in self._book.all
        ]

    async def expand(self, line: str) -> str | None:
        """See `Expander.expand`; placeholders are those of command files."""
        name, text = command_parts(line)
        if self._book.get(name) is None:
            return None
        try:
            body = await self._book.body(name)
        except HiltError as exc:
            raise RequestError(f"/{name}: {exc}", code="unavailable") from None
        if not body.strip():
            raise RequestError(f"/{name}: this skill has no instructions")
        return fill(body, text)
