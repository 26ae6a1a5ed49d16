"""What a server offers beside its tools: its resources and prompts, read tolerantly."""

import logging
from collections.abc import Callable, Collection, Mapping, MutableSet, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import anyio

from hilt.core.mcp import McpLimits, McpServerSpec
from hilt.core.mcp_text import clean_text
from hilt.mcp.listing import Ask, list_all
from hilt.mcp.server_list import ServerList
from hilt.ports.mcp import ServerFacts

logger = logging.getLogger(__name__)

T = TypeVar("T")

RESOURCES: Final = "resources"
PROMPTS: Final = "prompts"
ALL_LISTS: Final = (RESOURCES, PROMPTS)
LOAD_LEAST_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedResource:
    """A resource; `uri` is the server's own, byte for byte, the other texts are for people."""

    uri: str
    name: str = ""
    description: str = ""
    mime_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """One argument of a prompt."""

    name: str
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPrompt:
    """A prompt under the server's own name."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class ServerLists:
    """The lists of one server, empty where it does not offer them: what was not offered is not asked for."""

    def __init__(
        self,
        spec: McpServerSpec,
        ask: Ask,
        *,
        facts: Callable[[], ServerFacts],
        stale: MutableSet[str],
        limits: McpLimits,
    ) -> None:
        self._spec = spec
        self._ask = ask
        self._facts = facts
        self._limits = limits
        self.resources: ServerList[tuple[ListedResource, ...]] = ServerList(
            spec.name, RESOURCES, partial(self._listed, RESOURCES, read_resources), empty=(), stale=stale
        )
        self.prompts: ServerList[tuple[ListedPrompt, ...]] = ServerList(
            spec.name, PROMPTS, partial(self._listed, PROMPTS, read_prompts), empty=(), stale=stale
        )

    async def load(self, wanted: Collection[str], *, within_s: float) -> None:
        """Read the wanted lists side by side; what is not there in time, or fails, is told and costs nothing else."""
        with anyio.move_on_after(max(within_s, LOAD_LEAST_S)) as scope:
            async with anyio.create_task_group() as group:
                if RESOURCES in wanted:
                    group.start_soon(self.resources.value)
                if PROMPTS in wanted:
                    group.start_soon(self.prompts.value)
        if scope.cancelled_caught:
            logger.warning(
                "mcp_list_failed server=%s list=%s cause=no answer in time", self._spec.name, "/".join(wanted)
            )

    async def _listed(self, kind: str, read: Callable[[Sequence[object]], tuple[T, ...]]) -> tuple[T, ...]:
        if kind not in self._facts().capabilities:
            return ()
        return read(await list_all(self._ask, f"{kind}/list", kind, server=self._spec.name, limits=self._limits))


def read_resources(entries: Sequence[object]) -> tuple[ListedResource, ...]:
    """Return the resources that can be read, each URI once; an entry without a usable URI is left out."""
    found: dict[str, ListedResource] = {}
    for entry in entries:
        uri = entry.get("uri") if isinstance(entry, Mapping) else None
        if isinstance(entry, Mapping) and isinstance(uri, str) and uri and uri.isprintable():
            found.setdefault(
                uri,
                ListedResource(
                    uri=uri,
                    name=_line(entry.get("name")),
                    description=_line(entry.get("description")),
                    mime_type=_line(entry.get("mimeType")),
                ),
            )
    return tuple(found.values())


def read_prompts(entries: Sequence[object]) -> tuple[ListedPrompt, ...]:
    """Return the prompts that can be asked for, each name once; an entry without a name is left out."""
    found: dict[str, ListedPrompt] = {}
    for entry in entries:
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if isinstance(entry, Mapping) and isinstance(name, str) and name:
            arguments = entry.get("arguments")
            listed = tuple(
                PromptArgument(name=item["name"], required=item.get("required") is True)
                for item in (arguments if isinstance(arguments, list) else ())
                if isinstance(item, Mapping) and isinstance(item.get("name"), str)
            )
            found.setdefault(
                name, ListedPrompt(name=name, description=_line(entry.get("description")), arguments=listed)
            )
    return tuple(found.values())


def _line(value: object) -> str:
    """Return a text for people on one line."""
    return " ".join(clean_text(value).split()) if isinstance(value, str) else ""
