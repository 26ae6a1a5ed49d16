"""ToolSearch: gives the full specs of tools that are listed in short."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Final

from pydantic import Field

from hilt.core.args import Args
from hilt.core.errors import ToolError
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.search import ToolIndex
from hilt.ports.tool import Environment

_SELECT: Final = "select:"
_NEAREST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchArgs:
    """Arguments of `ToolSearch`."""

    query: Annotated[
        str | None,
        Field(description="`select:Name` or `select:A,B` gives these tools, in this order."),
    ] = None
    server: Annotated[str | None, Field(description="Name of an MCP server to search in.")] = None
    limit: Annotated[int, Field(ge=1, le=20, description="Tools to return.")] = 5


class ToolSearch:
    """Gives the full specs of the tools that the model names."""

    _args = Args(ToolSearchArgs)
    read_only = True
    spec = ToolSpec(
        name="ToolSearch",
        description=(
            "Give the full description and schema of tools that are listed in short, to call them. "
            "Use it with `select:Name` or `select:A,B` before the first call of such a tool. "
            "Do not use it for tools whose schema you already have. At most 20 tools a call."
        ),
        schema=_args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return a JSON array with one object for each name, in the order asked for."""
        args = self._args.decode(call)
        query = (args.query or "").strip()
        if not query.startswith(_SELECT):
            raise ToolError.unavailable(
                "search is not available yet; name tools with the query 'select:Name,Other'"
            )
        try:
            index = env.service(ToolIndex)  # type: ignore[type-abstract]  # named by its Protocol
        except LookupError:
            raise ToolError.unavailable("this session lists every tool in full") from None
        asked = [name for part in query.removeprefix(_SELECT).split(",") if (name := part.strip())]
        if not asked:
            raise ToolError.invalid_arguments("query: 'select:' is followed by names, as in select:A,B")
        return ToolResult.text(call.id, _selected(asked, index))


def _selected(asked: Sequence[str], index: ToolIndex) -> str:
    specs = {name: spec for name, spec in index.specs().items() if name != ToolSearch.spec.name}
    found = {name: _resolved(name, specs) for name in asked}
    fresh = index.hydrate([name for name in found.values() if name is not None])
    entries: list[dict[str, object]] = []
    for name, full in found.items():
        if full is None:
            near = get_close_matches(name, specs, n=_NEAREST, cutoff=0.0)
            entries.append({"name": name, "state": "not_found", "nearest": near})
        elif full in fresh:
            spec = specs[full]
            about: dict[str, object] = {"name": full, "description": spec.description, "schema": spec.schema}
            entries.append({**about, "state": "loaded"})
        else:
            entries.append({"name": full, "state": "already_available"})
    return json.dumps(entries, ensure_ascii=False)


def _resolved(name: str, specs: Mapping[str, ToolSpec]) -> str | None:
    """Return the catalog name meant: the same, in another case, or a server's own name if only one fits."""
    if name in specs:
        return name
    for candidates in (
        [full for full in specs if full.casefold() == name.casefold()],
        [full for full in specs if _own_name(full) == name],
        [full for full in specs if _own_name(full).casefold() == name.casefold()],
    ):
        if len(candidates) == 1:
            return candidates[0]
    return None


def _own_name(name: str) -> str:
    """Return the server's own name of `mcp__<server>__<tool>`, "" for a tool of no server."""
    prefix, _, rest = name.partition("__")
    return rest.partition("__")[2] if prefix == "mcp" else ""
