"""Reads a server's lists without trusting them: endless pages, and a bad tool that must not cost the rest."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hilt.core.errors import InvalidSpecError
from hilt.core.mcp import McpLimits, McpServerSpec, catalog_name
from hilt.core.mcp_header import ArgumentPath, header_arguments
from hilt.core.mcp_text import TOO_DEEP, clean_schema, clean_text
from hilt.core.pattern import matches_name
from hilt.core.tool import EMPTY_SCHEMA, ToolSpec, canonical_json
from hilt.ports.mcp import Fault, McpFault

logger = logging.getLogger(__name__)

DESCRIPTION_MAX_CHARS: Final = 10_000
SCHEMA_MAX_BYTES: Final = 256 * 1024
METHOD_NOT_FOUND: Final = -32601

Ask = Callable[[str, Mapping[str, object]], Awaitable[Mapping[str, object]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool that can be used.

    `name` is the server's own; `repaired` says what was changed to make it fit.
    """

    name: str
    spec: ToolSpec
    read_only: bool = False
    idempotent: bool = False
    title: str = ""
    output_schema: Mapping[str, object] | None = None
    header_arguments: Mapping[ArgumentPath, str] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WithheldTool:
    """A tool that cannot be used, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolListing:
    """A server's tools in its order."""

    tools: tuple[ListedTool, ...] = ()
    withheld: tuple[WithheldTool, ...] = ()


@dataclass(slots=True)
class _Schema:
    """A tool's schema on its way to one that can be used."""

    body: dict[str, object]
    repaired: list[str] = field(default_factory=list)


async def list_all(ask: Ask, method: str, key: str, *, server: str, limits: McpLimits) -> list[object]:
    """Return every entry of a paged list, up to the limits; a method that is not there is an empty list.

    Raises:
        McpFault: A page cannot be read.
    """
    entries: list[object] = []
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(limits.pages_max):
        try:
            page = await ask(method, {} if cursor is None else {"cursor": cursor})
        except McpFault as fault:
            if fault.fault is Fault.DECLARED and fault.code == METHOD_NOT_FOUND and not entries:
                return []
            raise
        found = page.get(key)
        if not isinstance(found, list):
            raise McpFault(Fault.PROTOCOL, f"the answer to {method} has no list of {key}")
        room = limits.entries_max - len(entries)
        entries.extend(found[:room])
        following = page.get("nextCursor")
        if not isinstance(following, str) and len(found) <= room:
            return entries
        if not isinstance(following, str) or following in seen or len(found) >= room:
            break
        seen.add(following)
        cursor = following
    logger.warning(
        "mcp_list_cut server=%s method=%s kept=%d next=%s",
        server,
        method,
        len(entries),
        repr(cursor)[:80],
    )
    return entries


def read_tools(entries: Sequence[object], server: McpServerSpec, *, with_headers: bool = False) -> ToolListing:
    """Return the tools that can be used, and the others with a reason each; raises nothing.

    `with_headers`: arguments may have to be repeated in headers, as in the stateless era over HTTP.
    """
    tools: dict[str, ListedTool] = {}
    bodies: dict[str, str] = {}
    withheld: dict[str, WithheldTool] = {}
    for entry in entries:
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(name, str) or not name:
            withheld.setdefault("", WithheldTool(name="", reason="an entry has no name"))
            continue
        if not is_wanted(name, server):
            continue
        body = _same_text(entry)
        if bodies.setdefault(name, body) != body:
            tools.pop(name, None)
            withheld[name] = WithheldTool(name=name, reason="two different tools have this name")
        elif name not in tools and name not in withheld:
            try:
                tools[name] = read_tool(name, entry, server, with_headers=with_headers)
            except InvalidSpecError as exc:
                withheld[name] = WithheldTool(name=name, reason=exc.reason)
    return ToolListing(tools=tuple(tools.values()), withheld=tuple(withheld.values()))


def renewed(old: ToolListing, new: ToolListing) -> ToolListing:
    """Return the new listing with the old tools where they are equal, so that what did not change stays the same."""
    before = {tool.name: tool for tool in old.tools}
    tools = tuple(before[tool.name] if before.get(tool.name) == tool else tool for tool in new.tools)
    same = len(tools) == len(old.tools) and all(a is b for a, b in zip(tools, old.tools, strict=True))
    return old if same and new.withheld == old.withheld else ToolListing(tools=tools, withheld=new.withheld)


def is_wanted(name: str, server: McpServerSpec) -> bool:
    """Whether the globs of `tools.allow` and `tools.deny` admit the tool."""
    allowed = server.allow is None or any(matches_name(glob, name) for glob in server.allow)
    return allowed and not any(matches_name(glob, name) for glob in server.deny)


def _same_text(entry: Mapping[str, object]) -> str:
    try:
        return canonical_json(entry)
    except (ValueError, TypeError, RecursionError):
        return repr(id(entry))


def read_tool(
    name: str, entry: Mapping[str, object], server: McpServerSpec, *, with_headers: bool = False
) -> ListedTool:
    """Return one tool.

    Raises:
        InvalidSpecError: It cannot be used; the reason says why.
    """
    schema = _schema(entry.get("inputSchema"))
    given = entry.get("description")
    description = clean_text(given) if isinstance(given, str) else ""
    if given is not None and description != given:
        schema.repaired.append("characters that are not shown were removed from the description")
    if len(description) > DESCRIPTION_MAX_CHARS:
        description = description[:DESCRIPTION_MAX_CHARS]
        schema.repaired.append(f"the description was cut at {DESCRIPTION_MAX_CHARS} characters")
    try:
        spec = ToolSpec(catalog_name(server.name, name), description, schema.body)
        size = len(spec.schema_json.encode("utf-8", "surrogatepass"))
    except (ValueError, TypeError, RecursionError) as exc:
        raise InvalidSpecError("the input schema cannot be read") from exc
    if TOO_DEEP in spec.schema_json:
        raise InvalidSpecError("the input schema is nested too deeply")
    if size > SCHEMA_MAX_BYTES:
        raise InvalidSpecError(f"the input schema is longer than {SCHEMA_MAX_BYTES} bytes")
    hints = entry.get("annotations")
    read_only, idempotent = _hints(hints if isinstance(hints, Mapping) else {}, trusted=server.trust_annotations)
    title, output = entry.get("title"), entry.get("outputSchema")
    return ListedTool(
        name=name,
        spec=spec,
        read_only=read_only,
        idempotent=idempotent,
        title=clean_text(title) if isinstance(title, str) else "",
        output_schema=output if isinstance(output, Mapping) else None,
        header_arguments=header_arguments(schema.body) if with_headers else {},
        repaired=tuple(schema.repaired),
    )


def _hints(hints: Mapping[str, object], *, trusted: bool) -> tuple[bool, bool]:
    """Return read-only and idempotent; only JSON `true` counts, and of what destroys nothing does."""
    if not trusted or hints.get("destructiveHint") is True:
        return False, False
    return hints.get("readOnlyHint") is True, hints.get("idempotentHint") is True


def _schema(given: object) -> _Schema:
    if given is None:
        return _Schema(dict(EMPTY_SCHEMA), ["it has no input schema: any object without fixed properties"])
    if given is True:
        return _Schema(dict(EMPTY_SCHEMA), ["its input schema admits anything: any object"])
    if not isinstance(given, Mapping):
        raise InvalidSpecError("the input schema is no JSON object")
    try:
        schema = _Schema(clean_schema(given))
    except RecursionError:
        raise InvalidSpecError("the input schema is nested too deeply") from None
    if any(_excludes_objects(schema.body.get(union)) for union in ("anyOf", "oneOf")):
        raise InvalidSpecError("no branch of the input schema describes an object")
    kind = schema.body.get("type")
    if kind == "object":
        return schema
    if kind is None or (isinstance(kind, list) and "object" in kind):
        # Arguments are always an object, so saying it changes nothing.
        schema.body = {**schema.body, "type": "object"}
        schema.repaired.append('"type": "object" was added to the input schema')
        return schema
    raise InvalidSpecError(f"the input schema describes no object but {str(kind)[:40]!r}")


def _excludes_objects(branches: object) -> bool:
    """Whether each branch of a union says plainly that it is no object; references are not followed."""
    if not isinstance(branches, list) or not branches:
        return False
    for branch in branches:
        kind = branch.get("type") if isinstance(branch, Mapping) else None
        plain = branch is False or (isinstance(kind, str) and kind != "object")
        if not plain and not (isinstance(kind, list) and "object" not in kind):
            return False
    return True
