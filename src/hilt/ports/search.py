"""Finding tools: what one session may see, and vectors that help to rank it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from hilt.core.search import SearchDocument
from hilt.core.search_query import SearchQuery


class FoundState(StrEnum):
    """How a tool that was found stands (search.md, SRC-27)."""

    LOADED = "loaded"
    AVAILABLE = "already_available"
    BLOCKED = "blocked"
    CONNECTING = "connecting"
    UNAVAILABLE = "unavailable"
    WITHHELD = "withheld"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTool:
    """A tool that was found. `key` is its catalog name, `name` what the model calls it.

    `schema` is there for `loaded` alone, and says that `ToolIndex.hydrate` may be called; `reason` is for the rest.
    """

    key: str
    name: str
    state: FoundState
    description: str = ""
    schema: Mapping[str, object] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTool:
    """A name that no visible tool has, as it was asked for, with the nearest names that some have."""

    name: str
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGroup:
    """An MCP server, or a family of other tools, and how many of its tools the session may see."""

    name: str
    tools: int
    server: bool
    state: str = ""


class ToolIndex(Protocol):
    """The tools of one session as ToolSearch sees them; what its filters hide is never told."""

    async def ranked(self, query: SearchQuery, limit: int) -> Sequence[FoundTool]:
        """Return at most `limit` tools that may be called, best first, equals by name."""
        ...

    async def named(self, names: Sequence[str]) -> Sequence[FoundTool | MissingTool]:
        """Return one answer for each name, in order: wire name, catalog name or the server's own name."""
        ...

    def groups(self) -> Sequence[ToolGroup]:
        """Return servers, then families, each by name."""
        ...

    def hydrate(self, keys: Sequence[str]) -> None:
        """Note that the model has been given the full specs of these tools, by catalog name."""
        ...


class TextVectors(Protocol):
    """Texts as vectors, numbered in the order in which they came."""

    async def add(self, texts: Sequence[str]) -> None:
        """Take in further texts.

        Raises:
            Exception: It failed; the same texts come again.
        """
        ...

    async def likeness(self, query: str) -> Sequence[float]:
        """Return how near each text is to the query, higher is nearer, one number for each text taken in.

        Raises:
            Exception: It failed; the search goes on without it.
        """
        ...


@runtime_checkable
class Embedder(Protocol):
    """Makes vectors of texts, without the network."""

    @property
    def name(self) -> str:
        """What it is called in logs."""
        ...

    @property
    def share(self) -> float:
        """Its share of the ranking, 0 to 1; the rest is the words'."""
        ...

    def text(self, tool: SearchDocument) -> str:
        """Return the text of a tool that is made a vector."""
        ...

    def vectors(self) -> TextVectors:
        """Return an empty collection."""
        ...
