"""What goes over the wire: bodies of requests, read strictly, and bodies of answers."""

import json
from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from hilt.core.errors import RequestError
from hilt.core.redaction import Redactor

T = TypeVar("T")

ModeName = Literal["plan", "default", "accept-edits", "auto"]
Json = dict[str, object]

TITLE_MAX: Final = 500
"""Characters; as a subject of a task has. Every list of sessions holds the titles."""

Title = Annotated[str, Meta(max_length=TITLE_MAX)]


class Body(Struct, kw_only=True, forbid_unknown_fields=True):
    """A body of a request, or an object in one; an unknown key is an error."""


class Filter(Body):
    """Which tools are seen: globs over their names; `allow` null means all."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()


class LimitsBody(Body):
    """Limits at or below the server's; 0, null or absence inherits."""

    max_turns: int | None = None
    max_tool_calls: int | None = None
    max_consecutive_failures: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None

    def given(self) -> dict[str, float | None]:
        """Return the limits that are asked for."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not None}


class ServerBody(Body):
    """An MCP server for one session, over HTTP; processes cannot be named here."""

    name: str
    url: str
    transport: Literal["http", "sse"] = "http"
    headers: dict[str, str] = {}
    protocol: Literal["auto", "handshake", "stateless"] = "auto"
    connect_timeout_s: Annotated[float, Meta(gt=0, le=10)] = 10.0
    idle_timeout_s: Annotated[float, Meta(gt=0, le=3600)] = 120.0
    call_timeout_s: Annotated[float, Meta(gt=0, le=3600)] = 600.0
    trust_annotations: bool = True
    tools: Filter = msgspec.field(default_factory=Filter)


class CreateBody(Body):
    """A new session; what is absent is the server's default."""

    id: str | None = None
    title: Title = ""
    mode: ModeName | None = None
    model: str | None = None
    system_prompt: str | None = None
    profile: Literal["no-fs"] | None = None
    categories: tuple[str, ...] | None = None
    tools: Filter = msgspec.field(default_factory=Filter)
    limits: LimitsBody = msgspec.field(default_factory=LimitsBody)
    mcp_servers: tuple[ServerBody, ...] | UnsetType = UNSET
    mcp_servers_camel: tuple[ServerBody, ...] | UnsetType = msgspec.field(default=UNSET, name="mcpServers")

    def servers(self) -> tuple[ServerBody, ...]:
        """Return the servers that are brought.

        Raises:
            RequestError: They are given in both spellings.
        """
        if self.mcp_servers is not UNSET and self.mcp_servers_camel is not UNSET:
            raise RequestError("give either mcp_servers or mcpServers")
        found = self.mcp_servers_camel if self.mcp_servers is UNSET else self.mcp_servers
        return () if found is UNSET else found


class TextInput(Body, tag_field="kind", tag="text"):
    """Text of a prompt."""

    text: str


class ImageInput(Body, tag_field="kind", tag="image"):
    """An image of a prompt; `data` is base64."""

    data: str
    mime_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]


class PromptBody(Body):
    """A prompt: a text, or parts. With `detach` the run goes on without this connection."""

    text: str | None = None
    parts: tuple[TextInput | ImageInput, ...] | None = None
    detach: bool = False


class ApproveBody(Body):
    """A verdict on an open ask: `verdict`, or `allow` for allow_once or deny."""

    ask_id: str
    verdict: Literal["allow_once", "allow_always", "deny"] | None = None
    allow: bool | None = None
    persist: bool = False
    message: str = ""


class PatchBody(Body):
    """Changes of a session; what is absent stays."""

    title: Title | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    tools: Filter | UnsetType = UNSET
    limits: LimitsBody | UnsetType = UNSET


class Answer(Struct, kw_only=True):
    """A body of an answer, or an object in one."""


class ErrorText(Answer):
    """What was refused: a stable code and a sentence."""

    code: str
    message: str


class ErrorAnswer(Answer):
    """Every refusal."""

    error: ErrorText


class Created(Answer):
    """A session that was made."""

    session_id: str
    mode: str
    tool_count: int


class UsageAnswer(Answer):
    """Tokens of all model requests of a session."""

    input: int
    output: int
    cache_read: int
    cache_write: int


class AskAnswer(Answer):
    """An ask that waits for a verdict."""

    ask_id: str
    call_id: str
    tool: str
    reason: str
    arguments: Json
    rule: str
    rememberable: bool


class SessionAnswer(Answer):
    """A session as it stands."""

    id: str
    title: str
    state: Literal["idle", "running", "awaiting", "closed"]
    mode: str
    model: str
    profile: str
    turns: int
    tool_calls: int
    usage: UsageAnswer
    pending_ask: AskAnswer | None
    created_at: str
    updated_at: str


class SessionPage(Answer):
    """Sessions by time of creation; `next` is the cursor of the next page, "" at the end."""

    sessions: list[SessionAnswer]
    next: str


class Started(Answer):
    """A run that goes on by itself."""

    run_id: str


class SpecAnswer(Answer):
    """A tool as the next model request lists it."""

    name: str
    description: str
    input_schema: Json


class Specs(Answer):
    """The tools of a session's next request."""

    tools: list[SpecAnswer]


class CallPage(Answer):
    """Audit records of a session's calls; `next` is the cursor of the next page, "" at the end."""

    calls: list[Json]
    next: str


class ToolAnswer(Answer):
    """A tool of the catalog that all sessions share."""

    name: str
    description: str
    family: str
    source: str
    server: str
    read_only: bool
    unavailable: str


class ToolInventory(Answer):
    """The tools of the shared catalog."""

    tools: list[ToolAnswer]


class SkillAnswer(Answer):
    """A skill."""

    name: str
    description: str
    tier: str
    place: str


class SkillInventory(Answer):
    """The skills of the application."""

    skills: list[SkillAnswer]


class ShadowAnswer(Answer):
    """A command that another one of the same name hides."""

    kind: str
    place: str


class CommandAnswer(Answer):
    """A slash command: what it is, where it comes from, and what it shadows, the nearest first."""

    name: str
    kind: str
    description: str
    argument_hint: str
    place: str
    shadows: list[ShadowAnswer]


class CommandInventory(Answer):
    """The slash commands of the application."""

    commands: list[CommandAnswer]


class ServerAnswer(Answer):
    """An MCP server of the process."""

    name: str
    transport: str
    state: str
    cause: str
    era: str
    tools: int


class ServerInventory(Answer):
    """The MCP servers of the process."""

    servers: list[ServerAnswer]


class Info(Answer):
    """The service: its version, what sessions may be, and what it can do."""

    version: str
    mcp: list[str]
    model: str
    mode: str
    categories: list[str]
    features: dict[str, bool]


class StateAnswer(Answer):
    """Whether the service is alive, or ready."""

    state: Literal["ok", "ready"]


_encoder: Final = msgspec.json.Encoder(enc_hook=str)


def encode(value: object, redactor: Redactor) -> bytes:
    """Return a value as JSON in one line, known secrets masked."""
    try:
        text = _encoder.encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which JSON can escape
        text = json.dumps(msgspec.to_builtins(value, enc_hook=str), separators=(",", ":")).encode("ascii")
    if redactor and redactor.holds(text.decode("utf-8")):
        masked = redactor.redact_value(json.loads(text))
        return json.dumps(masked, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return text


def decode(body: bytes, kind: type[T]) -> T:
    """Return the body of a request; an empty one is an empty object.

    Raises:
        RequestError: It is no JSON, has an unknown key, or a value has a wrong type; names key or path.
    """
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.ValidationError as exc:
        raise RequestError(_said(str(exc))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise RequestError(f"the body is no JSON: {exc}") from None


def _said(text: str) -> str:
    """Return what does not fit, without the sign for the root and with a way out where a process was named."""
    plain = text.replace("`$.", "`").replace("`$[", "`[")
    process = any(f"unknown field `{key}`" in text for key in ("command", "args", "env", "cwd")) or "'stdio'" in text
    return f"{plain}; a session brings MCP servers by their URL, not processes" if process else plain


def as_json(value: Mapping[str, object]) -> Json:
    """Return a mapping as an object of an answer."""
    return dict(value)
