"""ToolSearch: finds tools by words or by name and gives their full specs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.core.args import Args
from hilt.core.errors import ToolError
from hilt.core.search_query import QUERY_MAX_CHARS, SearchQuery, parse_query
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.search import FoundState, FoundTool, MissingTool, ToolGroup, ToolIndex
from hilt.ports.tool import Environment

ANSWER_MAX_BYTES: Final = 24_900
_SELECT: Final = "select:"
_TAIL_BYTES: Final = 1_000
_SHOWN_CHARS: Final = 200
_GROUPS_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchArgs:
    """Arguments of `ToolSearch`."""

    query: Annotated[
        str | None,
        Field(
            description=(
                "Words for what the tool should do. `+word`: only tools that hold the word. `select:Name` or "
                "`select:A,B`: exactly these tools, in this order. Empty: the servers and how many tools each has."
            )
        ),
    ] = None
    server: Annotated[str | None, Field(description="Name of an MCP server to search in.")] = None
    limit: Annotated[int, Field(ge=1, le=20, description="Tools to return.")] = 5


class ToolSearch:
    """Gives the full specs of the tools that the model names or describes."""

    _args = Args(ToolSearchArgs)
    read_only = True
    spec = ToolSpec(
        name="ToolSearch",
        description=(
            "Find tools that are not listed, or listed in short, and get their full description and schema. "
            "Say what the tool should do, one step at a time, or name it with `select:Name`. "
            "Do not use it for tools whose schema you already have. At most 20 tools a call."
        ),
        schema=_args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return a JSON array with one object for each tool, best first or in the order asked for."""
        args = self._args.decode(call)
        try:
            index = env.service(ToolIndex)  # type: ignore[type-abstract]  # named by its Protocol
        except LookupError:
            raise ToolError.unavailable("this session lists every tool in full") from None
        text = (args.query or "").strip()
        if text.startswith(_SELECT):
            return ToolResult.text(call.id, await _selected(text, index))
        query = parse_query(text, server=args.server)
        if not query.text:
            return ToolResult.text(call.id, _grouped(index.groups(), query.server))
        found = await index.ranked(query, args.limit)
        if not found:
            return ToolResult.text(call.id, _nothing(query, index.groups()))
        return ToolResult.text(call.id, _answer(found, index))


async def _selected(text: str, index: ToolIndex) -> str:
    parts = text[:QUERY_MAX_CHARS].removeprefix(_SELECT).split(",")
    asked = list(dict.fromkeys(name for part in parts if (name := part.strip())))
    if not asked:
        raise ToolError.invalid_arguments("query: 'select:' is followed by names, as in select:A,B")
    return _answer(await index.named(asked), index)


def _answer(found: Sequence[FoundTool | MissingTool], index: ToolIndex) -> str:
    """Return the entries as JSON, with as many schemas as fit whole, and hydrate the tools of those."""
    shorts = [_short(one) for one in found]
    # What the entries that follow take at least is kept free.
    later = sum(map(_bytes, shorts))
    left = ANSWER_MAX_BYTES - _TAIL_BYTES
    texts: list[str] = []
    given: list[str] = []
    unsaid: list[str] = []
    for one, short in zip(found, shorts, strict=True):
        later -= _bytes(short)
        full = _full(one)
        if full and _bytes(full) <= left - later and isinstance(one, FoundTool):
            given.append(one.key)
            texts.append(full)
        elif _bytes(short) <= left:
            texts.append(short)
        else:
            unsaid.append(one.name)
            continue
        left -= _bytes(texts[-1])
    if unsaid:
        texts.append(_json({"left_out": ", ".join(unsaid)[:_SHOWN_CHARS], "reason": "ask for fewer tools at once"}))
    index.hydrate(given)
    return f"[{','.join(texts)}]"


def _bytes(text: str) -> int:
    """Return the size of an entry and the comma after it."""
    return len(text.encode("utf-8", "replace")) + 1


def _full(one: FoundTool | MissingTool) -> str:
    """Return the entry with its schema, "" for one that has none."""
    if isinstance(one, MissingTool) or one.schema is None:
        return ""
    return _json({"name": one.name, "description": one.description, "schema": one.schema, "state": str(one.state)})


def _short(one: FoundTool | MissingTool) -> str:
    """Return the entry without a schema."""
    if isinstance(one, MissingTool):
        return _json({"name": one.name, "state": "not_found", "nearest": list(one.nearest)})
    if one.schema is None:
        body = {"name": one.name, "state": str(one.state)}
        return _json({**body, "reason": one.reason[:_SHOWN_CHARS]} if one.reason else body)
    return _json(
        {
            "name": one.name,
            "description": one.description[:_SHOWN_CHARS],
            "state": str(FoundState.WITHHELD),
            "reason": f"its schema does not fit into this answer; use select:{one.name}",
        }
    )


def _grouped(groups: Sequence[ToolGroup], server: str | None) -> str:
    shown = [group for group in groups if server is None or (group.server and group.name == server)]
    rows: list[dict[str, object]] = []
    for group in shown[:_GROUPS_MAX]:
        row: dict[str, object] = {"server" if group.server else "family": group.name, "tools": group.tools}
        rows.append({**row, "state": group.state[:_SHOWN_CHARS]} if group.state else row)
    if len(shown) > _GROUPS_MAX:
        rows.append({"further": len(shown) - _GROUPS_MAX})
    return _json(rows)


def _nothing(query: SearchQuery, groups: Sequence[ToolGroup]) -> str:
    within = f" in server {query.server[:_SHOWN_CHARS]!r}" if query.server else ""
    required = f" with all of {', '.join(query.required)}" if query.required else ""
    return f"No tool{within} matches {query.text!r}{required}. Servers and families: {_grouped(groups, None)}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
