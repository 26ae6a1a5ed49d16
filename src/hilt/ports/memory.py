"""What is remembered beyond a conversation: values of a workspace and of a user, and the earlier turns of a session."""

from collections.abc import Sequence
from typing import Protocol

from hilt.core.memory import Known, NewValue, Version, Writer
from hilt.core.passage import Passage


class KeyedMemory(Protocol):
    """Values under keys, each with its last ten versions. Each change is one step: of two with one version one fails.

    Keys are well formed (`core.memory.check_key`). Every method raises `ToolError` where the memory cannot be used.
    """

    async def remember(self, key: str, new: NewValue, *, writer: Writer) -> str:
        """Give a key a value and return its new version.

        Raises:
            StaleVersionError: The expected version is not the current one.
            ToolError: The memory is full.
        """
        ...

    async def forget(self, key: str, expected: str, *, writer: Writer) -> str:
        """Take the value of a key away and return its new version.

        Raises:
            StaleVersionError: The expected version is not the current one.
            ToolError: It has no value.
        """
        ...

    async def undo(self, key: str, expected: str, *, writer: Writer) -> str:
        """Give a key the value before its last change, a forgotten one too, and return its new version.

        Raises:
            StaleVersionError: The expected version is not the current one.
            ToolError: The key is unknown, or nothing is kept from before its value.
        """
        ...

    async def history(self, key: str) -> Sequence[Version]:
        """Return the kept versions of a key, oldest first; none for a key that never had a value."""
        ...

    async def keys(self, prefix: str, *, limit: int) -> Sequence[Known]:
        """Return the keys with a value that begin with `prefix`, sorted, at most `limit`."""
        ...

    async def search(self, query: str, *, limit: int) -> Sequence[Known]:
        """Return the keys whose name, description or value shares a word with the query, best first.

        Those that have all its words stand first. Every text is a query; one without a word finds nothing.
        """
        ...


class ProjectMemory(KeyedMemory, Protocol):
    """What is remembered of a workspace."""


class UserModel(KeyedMemory, Protocol):
    """What is remembered of a user."""


class EarlierTurns(Protocol):
    """The turns of one session that are no longer in its model's context."""

    async def search(self, query: str, *, limit: int, max_chars: int) -> Sequence[Passage]:
        """Return where a query is found, best first, each cut to `max_chars`; none where nothing shares a word."""
        ...
