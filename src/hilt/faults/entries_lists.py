"""Entries whose lists are false, endless, huge or dangerous to look at."""

from hilt.faults.core import Server
from hilt.faults.entry import Entry, Setting
from hilt.faults.exchange import Exchange
from hilt.faults.honest import RpcError, raw_result
from hilt.faults.offer import TOOLS, tool
from hilt.faults.protocol import METHOD_NOT_FOUND, Json, encode


class LyingCapabilities(Server):
    """Advertises what it does not have."""

    def documents(self, exchange: Exchange) -> Json:
        """Know nothing of resources and prompts."""
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {exchange.method}")


class BadTool(Server):
    """Lists 20 tools, four of which cannot be used."""

    def tools(self, exchange: Exchange) -> list[object]:
        """Return good ones with bad ones among them."""
        good: list[object] = [*TOOLS, *(tool(f"good_{number}", "Does nothing.") for number in range(11))]
        annotated = {"where": {"type": "string", "x-mcp-header": "no token: \n"}}
        bad: list[object] = [
            {"description": "Has no name.", "inputSchema": {"type": "object"}},
            {"name": "listed_schema", "inputSchema": ["object"]},
            tool("control\x07name", "Rings."),
            tool("bad_header", "Has an annotation that is no header name.", annotated),
        ]
        return [*good[:3], bad[0], *good[3:6], bad[1], bad[2], *good[6:], bad[3]]


class Pages(Server):
    """Lists its tools in pages."""

    def list_tools(self, exchange: Exchange) -> None:
        """Answer with the page that the cursor names."""
        self.finish(exchange, self.page(exchange.params.get("cursor")))

    def page(self, cursor: object) -> Json:
        """Return the page after a cursor; `None` is the first, and so is one that we did not give."""
        raise NotImplementedError  # the subclasses differ in nothing but their pages


class EndlessPages(Pages):
    """Has a new cursor for each page."""

    def page(self, cursor: object) -> Json:
        """Return one tool and a next page."""
        digits = str(cursor).removeprefix("page-")
        number = int(digits) if digits.isdecimal() else 0
        return {"tools": [*(TOOLS if number == 0 else ()), _numbered(number)], "nextCursor": f"page-{number + 1}"}


class StuckCursor(Pages):
    """Has the same cursor for each page."""

    def page(self, cursor: object) -> Json:
        """Return the first or the second page, with the same cursor."""
        tools = [*TOOLS, _numbered(0)] if cursor is None else [_numbered(1)]
        return {"tools": tools, "nextCursor": "same"}


class EmptyCursor(Pages):
    """Has the empty text as a cursor, once."""

    def page(self, cursor: object) -> Json:
        """Return two pages."""
        if cursor is None:
            return {"tools": [*TOOLS, _numbered(0)], "nextCursor": ""}
        return {"tools": [_numbered(1)]}


def _numbered(number: int) -> Json:
    return tool(f"tool_{number}", "Does nothing.")


class BigList(Server):
    """Lists very many tools on one page."""

    def started(self) -> None:
        """Write the list once."""
        tools = [*TOOLS, *map(_numbered, range(self.setup.count("count") - len(TOOLS)))]
        self._members = b'"tools":' + encode(tools)

    def list_tools(self, exchange: Exchange) -> None:
        """Answer with the list."""
        exchange.answer_text(raw_result(exchange, self._members))


class SchemaBomb(Server):
    """Lists tools whose schemas contain themselves, grow, go deep or lie elsewhere."""

    def started(self) -> None:
        """Write the schemas once; the canary is where the external one would be."""
        schemas = {
            "contains_itself": encode(_contains_itself()),
            "grows": encode(_grows(40)),
            "deep": _deep(self.setup.count("levels")),
            "elsewhere": encode(_elsewhere(self.canary())),
        }
        tools = [encode(tool) for tool in TOOLS]
        for name, schema in schemas.items():
            tools.append(b'{"name":"' + name.encode() + b'","description":"A bomb.","inputSchema":' + schema + b"}")
        self._members = b'"tools":[' + b",".join(tools) + b"]"

    def list_tools(self, exchange: Exchange) -> None:
        """Answer with the list."""
        exchange.answer_text(raw_result(exchange, self._members))


def _contains_itself() -> Json:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "all": {"$ref": "#"}}}
    return {"type": "object", "properties": {"first": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}


def _grows(levels: int) -> Json:
    """Return a schema that doubles with each level once its references are written out."""
    definitions: Json = {f"d{levels}": {"type": "string"}}
    for level in range(levels):
        below = {"$ref": f"#/$defs/d{level + 1}"}
        definitions[f"d{level}"] = {"type": "object", "properties": {"a": below, "b": below}}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}


def _deep(levels: int) -> bytes:
    opening = b'{"type":"object","properties":{"a":'
    return opening * levels + b'{"type":"string"}' + b"}}" * levels


def _elsewhere(origin: str) -> Json:
    return {
        "type": "object",
        "properties": {
            "a": {"$ref": f"{origin}/schema.json"},
            "b": {"$ref": "file:///etc/hostname"},
            "c": {"$ref": f"{origin}/other.json#/$defs/x"},
        },
    }


ENTRIES = (
    Entry(
        name="lying-capabilities",
        section=2,
        ids=("FLT-19",),
        summary="Advertises resources and prompts, and answers -32601 for them.",
        server=LyingCapabilities,
    ),
    Entry(
        name="bad-tool",
        section=2,
        ids=("FLT-23",),
        summary="Lists 20 tools: one without name, one with a list as schema, a control character, a bad x-mcp-header.",
        server=BadTool,
    ),
    Entry(
        name="endless-pages",
        section=2,
        ids=("FLT-24",),
        summary="Lists a tool a page, each page with a new cursor.",
        server=EndlessPages,
    ),
    Entry(
        name="stuck-cursor",
        section=2,
        ids=("FLT-24",),
        summary="Lists pages that all have the same cursor.",
        server=StuckCursor,
    ),
    Entry(
        name="empty-cursor",
        section=2,
        ids=("FLT-24",),
        summary="Lists two pages, with the empty text as cursor between them.",
        server=EmptyCursor,
    ),
    Entry(
        name="big-list",
        section=2,
        ids=("FLT-25",),
        summary="Lists 100,000 tools on one page.",
        server=BigList,
        settings=(Setting(name="count", default="100000", summary="tools on the page"),),
    ),
    Entry(
        name="schema-bomb",
        section=2,
        ids=("FLT-26",),
        summary="Has schemas that contain themselves, grow without bound, go 5,000 levels deep or lie elsewhere.",
        server=SchemaBomb,
        settings=(Setting(name="levels", default="5000", summary="levels of the deep one"),),
    ),
)
