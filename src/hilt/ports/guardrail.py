"""Who reviews the data that crosses between model and tools."""

from typing import Protocol

from hilt.core.guardrail import Direction, Payload


class Reviewer(Protocol):
    """Looks at one call's arguments, or at its result with typed parts and uncut text."""

    async def review(self, direction: Direction, tool: str, payload: Payload) -> str | None:
        """Return what is wrong with it in one line that quotes nothing of it, None when nothing is.

        The caller keeps the deadline by cancelling; whatever it raises counts as a failed review.
        """
        ...
