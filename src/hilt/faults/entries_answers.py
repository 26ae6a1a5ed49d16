"""Entries whose answers are odd, false, or want something."""

from typing import Final

from hilt.faults.core import CallFault, Server
from hilt.faults.entry import CALLS_ALWAYS, STATELESS, Entry, Kind, Setting
from hilt.faults.exchange import Exchange
from hilt.faults.honest import raw_result
from hilt.faults.offer import PROMPTS, RESOURCES, TOOLS, tool
from hilt.faults.protocol import Json, Transport, mapping, text_content

_PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_GOOD: Final[Json] = {"type": "text", "text": "the good block"}


def _odd_json(kind: str, levels: int) -> bytes:
    content = b'"content":[{"type":"text","text":"%s"}]'
    match kind:
        case "deep":
            return content % b"deep" + b',"structuredContent":{"a":' + b"[" * levels + b"]" * levels + b"}"
        case "nan":
            return content % b"numbers" + b',"structuredContent":{"a":NaN,"b":-Infinity,"c":1e999}'
        case "surrogates":
            return content % b"lone \\ud800 and \\udfff"
        case "utf8":
            return content % b"broken \xff\xfe\xc3( bytes"
        case _:
            return content % b"first" + b"," + content % b"second"


class OddJson(CallFault):
    """Answers with JSON at its limits."""

    def fault(self, exchange: Exchange) -> None:
        """Answer oddly."""
        members = _odd_json(self.setup.text("kind"), self.setup.count("levels"))
        exchange.answer_text(raw_result(exchange, members))


_IMAGE: Final[Json] = {"type": "image", "mimeType": "image/png", "data": _PIXEL}
_ODD_BLOCKS: Final[dict[str, list[object]]] = {
    "unknown": [_GOOD, {"type": "hologram", "data": "x"}],
    "base64": [_GOOD, {"type": "image", "mimeType": "image/png", "data": "no base64!"}],
    "missing": [_GOOD, {"type": "text"}, {"type": "image"}, {"type": "resource"}, {}, None, "text", 7],
    "image": [_IMAGE],
    "nothing": [],
    "all": [{"type": "hologram"}, _GOOD, {"type": "image", "data": "?"}, {"type": "audio"}, [], _IMAGE],
}


class OddBlocks(CallFault):
    """Answers with content blocks that are none."""

    def fault(self, exchange: Exchange) -> None:
        """Answer oddly."""
        self.finish(exchange, {"content": _ODD_BLOCKS[self.setup.text("kind")]})


_NUMBER: Final[Json] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class SchemaLie(CallFault):
    """Breaks the output schema that it lists, or has an error with structured content."""

    def tools(self, exchange: Exchange) -> list[object]:
        """Promise a number."""
        return [{**tool, "outputSchema": _NUMBER} for tool in TOOLS]

    def execute(self, exchange: Exchange) -> Json:
        """Keep the promise in calls that are not hit."""
        return {**super().execute(exchange), "structuredContent": {"n": 1}}

    def fault(self, exchange: Exchange) -> None:
        """Break it."""
        if self.setup.text("kind") == "lie":
            self.finish(exchange, {**text_content("a number"), "structuredContent": {"n": "seven"}})
        else:
            value = {**text_content("the disk is full"), "isError": True, "structuredContent": {"free": 0}}
            self.finish(exchange, value)


class LinksEverywhere(Server):
    """Has links to an address of its own wherever links can be; nobody is to follow one by itself."""

    def started(self) -> None:
        """The address is a canary."""
        self._origin = self.canary()

    def _link(self, path: str) -> str:
        return f"{self._origin}/{path}"

    def _linked(self) -> Json:
        return {"icons": [{"src": self._link("icon.png")}], "_meta": {"ui/resourceUri": self._link("ui")}}

    def tools(self, exchange: Exchange) -> list[object]:
        """Return the tools with icons, references and metadata."""
        schema = {"type": "object", "properties": {"text": {"$ref": self._link("schema.json")}}}
        extra = {"$schema": self._link("dialect"), "$id": self._link("id")}
        return [{**tool, **self._linked(), "inputSchema": {**schema, **extra}} for tool in TOOLS]

    def documents(self, exchange: Exchange) -> Json:
        """Return resources and prompts that lie at the address."""
        match exchange.method:
            case "resources/list":
                linked = {**self._linked(), "uri": self._link("resource"), "name": "linked"}
                return {"resources": [*RESOURCES, linked]}
            case "prompts/list":
                return {"prompts": [{**prompt, **self._linked()} for prompt in PROMPTS]}
            case "prompts/get":
                link = {"type": "resource_link", "uri": self._link("prompt"), "name": "linked"}
                return {"messages": [{"role": "user", "content": link}]}
            case _:
                return super().documents(exchange)

    def execute(self, exchange: Exchange) -> Json:
        """Return links beside the text."""
        text = f"see {self._link('text')} and ![x]({self._link('image.png')})"
        link = {"type": "resource_link", "uri": self._link("link"), "name": "linked", **self._linked()}
        embedded = {"type": "resource", "resource": {"uri": self._link("embedded"), "text": "here"}}
        super().execute(exchange)
        return {"content": [{"type": "text", "text": text}, link, embedded], "_meta": {"see": self._link("meta")}}


class InputForever(CallFault):
    """Asks for input on every round of a call."""

    def fault(self, exchange: Exchange) -> None:
        """Ask again."""
        schema = {"type": "object", "properties": {"more": {"type": "string"}}, "required": ["more"]}
        asked = {"mode": "form", "message": "More?", "requestedSchema": schema}
        self.finish(
            exchange,
            {
                "resultType": "input_required",
                "inputRequests": {"more": {"method": "elicitation/create", "params": asked}},
                "requestState": f"round-{exchange.nth}",
            },
        )


_EVIL: Final = "^(a+)+$"


class BadPattern(Server):
    """Lists a tool whose patterns take exponential time, for its arguments and for its result."""

    def tools(self, exchange: Exchange) -> list[object]:
        """Add the tool."""
        matching: Json = {"text": {"type": "string", "pattern": _EVIL}}
        output = {"type": "object", "properties": matching}
        return [*TOOLS, {**tool("match", "Returns the text it is given.", matching), "outputSchema": output}]

    def execute(self, exchange: Exchange) -> Json:
        """Return the text as structured content too."""
        if exchange.params.get("name") != "match":
            return super().execute(exchange)
        self.log.write("executed", tool="match", id=exchange.id)
        text = str(mapping(exchange.params.get("arguments")).get("text", ""))
        return {**text_content(text), "structuredContent": {"text": "a" * self.setup.count("letters") + "!"}}


def _kinds(*names: str) -> tuple[Kind, ...]:
    return tuple(Kind(name=name) for name in names)


ENTRIES = (
    Entry(
        name="odd-json",
        section=3,
        ids=("FLT-51",),
        summary="Answers with JSON that is very deep, holds NaN, lone surrogates, no UTF-8, or a key twice.",
        server=OddJson,
        kinds=_kinds("deep", "nan", "surrogates", "utf8", "twice"),
        settings=(*CALLS_ALWAYS, Setting(name="levels", default="100000", summary="levels of the deep one")),
    ),
    Entry(
        name="odd-blocks",
        section=3,
        ids=("FLT-52",),
        summary="Answers with unknown, broken or missing content blocks.",
        server=OddBlocks,
        kinds=_kinds(*_ODD_BLOCKS),
        settings=CALLS_ALWAYS,
    ),
    Entry(
        name="schema-lie",
        section=3,
        ids=("FLT-53",),
        summary="Breaks its own output schema, or answers with an error that has structured content.",
        server=SchemaLie,
        kinds=_kinds("lie", "error"),
        settings=CALLS_ALWAYS,
    ),
    Entry(
        name="links-everywhere",
        section=3,
        ids=("FLT-54",),
        summary="Has links to an address of its own in definitions, results, resources and prompts.",
        server=LinksEverywhere,
    ),
    Entry(
        name="input-forever",
        section=3,
        ids=("FLT-55",),
        summary="Asks for input on every round of a call.",
        server=InputForever,
        eras=STATELESS,
        transports=(Transport.HTTP, Transport.STDIO),
        settings=CALLS_ALWAYS,
    ),
    Entry(
        name="bad-pattern",
        section=3,
        ids=("FLT-57",),
        summary="Has a tool `match` whose schemas hold a pattern of exponential time.",
        server=BadPattern,
        settings=(Setting(name="letters", default="40", summary="length of the result that almost matches"),),
    ),
)
