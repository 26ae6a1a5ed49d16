"""The settings: every key of settings.yaml with its type and default (cli.md section 5).

Field names are the keys. `OPERATOR` marks what a project's file cannot set, `ADDS` what the files add up.
Times are seconds, `_ms` and `_bytes` where a name says so; None means no limit or nothing chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from hilt.app.settings_mcp import McpSettings
from hilt.app.settings_shape import ADDS, OPERATOR, Bounds, Written
from hilt.core.hook import TIMEOUT_DEFAULT_S, HookEvent, OnFailure
from hilt.core.peer import ADDRESS_FORMS, ADDRESS_PATTERN, ID_PATTERN, NAME_PATTERN
from hilt.core.session import Limits, Mode

Share = Annotated[float, Bounds(least=0, most=1)]
RuleText = Annotated[
    str,
    Written(
        "a rule: TOOL or TOOL(PATTERN)",
        (r"\S([\s\S]*\S)?", r"(\\[\s\S]|[^\\(])+(\((\\[\s\S]|[^\\])*\))?"),
    ),
]
PeerName = Annotated[str, Written("a name of letters, digits, `.`, `_` and `-`", (NAME_PATTERN,))]
PeerAddress = Annotated[str, Written(ADDRESS_FORMS, (ADDRESS_PATTERN,))]
AbsolutePath = Annotated[str, Written("an absolute path", (r"(/|[A-Za-z]:[\\/])[\s\S]*",))]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSettings:
    """Further roots of the file tools."""

    extra_roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """Which tools there are, who sees them, and how they run; `timeouts` pairs a name glob with seconds."""

    enable: tuple[str, ...] = ("files.read",)
    allow: tuple[str, ...] = ("*",)
    deny: Annotated[tuple[str, ...], ADDS] = ()
    max_concurrent: int = 16
    timeout_seconds: float = 600
    timeouts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionSettings:
    """The rules of all files and flags as texts; `adapters/permission_file` makes rules of them."""

    allow: Annotated[tuple[RuleText, ...], ADDS] = ()
    ask: Annotated[tuple[RuleText, ...], ADDS] = ()
    deny: Annotated[tuple[RuleText, ...], ADDS] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustSettings:
    """Workspaces that are trusted."""

    projects: tuple[AbsolutePath, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """One hook as written: a command for `/bin/sh -c`, or an address that is posted to."""

    ONE_OF: ClassVar[tuple[str, ...]] = ("command", "url")
    NEEDS: ClassVar[Mapping[str, str]] = {"headers": "url"}

    name: str = ""
    match: tuple[str, ...] = ()
    command: Annotated[str, Written("a command", (r"[\s\S]*\S[\s\S]*",))] = ""
    url: Annotated[str, Written("an http or https URL", (r"https?://[^\s]+",))] = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: Annotated[float, Bounds(least=1, most=600)] = TIMEOUT_DEFAULT_S
    on_failure: OnFailure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailSettings:
    """One guardrail; `patterns` are further regular expressions for the reviewer `patterns`."""

    name: str = ""
    match: tuple[str, ...] = ()
    direction: Literal["in", "out"]
    mode: Literal["block", "advisory"] = "block"
    reviewer: Literal["patterns", "model"] = "patterns"
    patterns: tuple[str, ...] = ()
    on_failure: OnFailure = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellPolicy:
    """Which commands the shell may run at all, whatever the rules say."""

    mode: Literal["unrestricted", "allow_list", "deny_list"] = "unrestricted"
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellSettings:
    """The shell tool; `program` None takes bash, else sh."""

    program: str | None = None
    policy: ShellPolicy = field(default_factory=ShellPolicy)
    max_processes: int = 10
    pass_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Child agents."""

    max_concurrent: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """The user model."""

    user_review: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSettings:
    """Another agent: what it is called here, its public key, and where it listens; None is this process."""

    name: PeerName
    key: Annotated[str, Written("ed25519: and 43 characters, as `hilt comms key` prints it", (ID_PATTERN,))]
    address: PeerAddress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommsSettings:
    """Messages between agents: this one's name, where it listens, whom it hears and speaks to.

    `session` is the id of the session that receives; None is the one that is open for the longest.
    """

    name: PeerName | None = None
    listen: PeerAddress | None = None
    session: str | None = None
    peers: tuple[PeerSettings, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearchSettings:
    """Where the web is searched; `key_env` names the variable that holds the key.

    `custom` is any service that answers a GET with `q` and `count` with `{"results": [{"title", "url", "snippet"}]}`.
    """

    backend: Literal["searxng", "exa", "brave", "custom"] | None = None
    url: str | None = None
    key_env: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """The web tools."""

    search: WebSearchSettings = field(default_factory=WebSearchSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSettings:
    """Where skills are looked for and drafts go."""

    dirs: tuple[str, ...] = ()
    conventional: bool = False
    draft_dir: str | None = None
    draft_similarity: Share = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureSettings:
    """When tools are listed light."""

    mode: Literal["auto", "on", "off"] = "auto"
    window_share: Share = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSettings:
    """Results of tools; no key so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """The gateway; no key so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Where sessions are stored, how many there may be, and when they are closed."""

    store: str = "jsonl:"
    max_own_engines: int = 1024
    max_open: int = 10_000
    idle_close_seconds: float = 1800
    retention_days: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeAuthSettings:
    """Who may call the service: a file of principals with their tokens, one pair a line."""

    token_file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """The service; `client_mcp` says which MCP servers a session may bring when others than this machine may call."""

    listen: str = "127.0.0.1:8081"
    grpc_listen: str = "127.0.0.1:8080"
    cors_origins: tuple[str, ...] = ()
    rate_limit: float | None = None
    client_mcp: Literal["public", "any", "off"] = "public"
    auth: ServeAuthSettings = field(default_factory=ServeAuthSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What is logged, and how."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every key at the top of settings.yaml."""

    model: str | None = None
    mode: Annotated[Mode, OPERATOR] = Mode.DEFAULT
    limits: Limits = field(default_factory=Limits)
    workspace: Annotated[WorkspaceSettings, OPERATOR] = field(default_factory=WorkspaceSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    permissions: PermissionSettings = field(default_factory=PermissionSettings)
    trust: Annotated[TrustSettings, OPERATOR] = field(default_factory=TrustSettings)
    hooks: Annotated[Mapping[HookEvent, tuple[HookSettings, ...]], ADDS] = field(default_factory=dict)
    guardrails: Annotated[tuple[GuardrailSettings, ...], OPERATOR] = ()
    shell: Annotated[ShellSettings, OPERATOR] = field(default_factory=ShellSettings)
    agents: AgentSettings = field(default_factory=AgentSettings)
    memory: Annotated[MemorySettings, OPERATOR] = field(default_factory=MemorySettings)
    comms: Annotated[CommsSettings, OPERATOR] = field(default_factory=CommsSettings)
    web: Annotated[WebSettings, OPERATOR] = field(default_factory=WebSettings)
    skills: Annotated[SkillSettings, OPERATOR] = field(default_factory=SkillSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    disclosure: DisclosureSettings = field(default_factory=DisclosureSettings)
    results: ResultSettings = field(default_factory=ResultSettings)
    gateway: Annotated[GatewaySettings, OPERATOR] = field(default_factory=GatewaySettings)
    sessions: Annotated[SessionSettings, OPERATOR] = field(default_factory=SessionSettings)
    serve: Annotated[ServeSettings, OPERATOR] = field(default_factory=ServeSettings)
    log: Annotated[LogSettings, OPERATOR] = field(default_factory=LogSettings)
