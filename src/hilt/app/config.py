"""The configuration of one process: the settings as they hold, and where each value comes from. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Literal, TypeVar

from hilt.adapters.permission_file import RuleFile
from hilt.app.settings import HookSettings, Settings
from hilt.app.settings_decode import KeyPath, Leaf, dotted
from hilt.app.settings_shape import MapShape, SectionShape, section
from hilt.core.hook import HookEvent, OnFailure
from hilt.core.mcp import ChosenServer, McpServerSpec
from hilt.core.permission import PermissionRule, Scope

T = TypeVar("T")

SourceKind = Literal["file", "flag", "variable", "default"]


class Rank(IntEnum):
    """Which layer gives a single value: the lowest that has it."""

    MANAGED = 0
    FLAG = 1
    VARIABLE = 2
    CLI_FILE = 3
    LOCAL_PROJECT = 4
    SHARED_PROJECT = 5
    USER = 6


SCOPES: Mapping[Rank, Scope] = {
    Rank.MANAGED: Scope.MANAGED,
    Rank.FLAG: Scope.CLI,
    Rank.VARIABLE: Scope.CLI,
    Rank.CLI_FILE: Scope.CLI,
    Rank.LOCAL_PROJECT: Scope.LOCAL_PROJECT,
    Rank.SHARED_PROJECT: Scope.SHARED_PROJECT,
    Rank.USER: Scope.USER,
}
PROJECT = frozenset({Rank.LOCAL_PROJECT, Rank.SHARED_PROJECT})
HOOK_ORDER = (Scope.MANAGED, Scope.CLI, Scope.USER, Scope.SHARED_PROJECT, Scope.LOCAL_PROJECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a value comes from: a file with its line, a flag, a variable, or the default."""

    kind: SourceKind = "default"
    name: str = ""
    line: int = 0

    def __str__(self) -> str:
        if self.kind == "default":
            return "default"
        return f"{self.name}:{self.line}" if self.line else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one source gives. Files of one rank: the later one wins."""

    rank: Rank
    kind: SourceKind
    name: str
    leaves: Sequence[Leaf] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDefinition:
    """One hook that applies. Exactly one of `command` and `url` is not ""; headers are not expanded yet."""

    event: HookEvent
    name: str
    match: tuple[str, ...]
    command: str
    url: str
    headers: Mapping[str, str]
    timeout_s: float
    on_failure: OnFailure | None
    scope: Scope
    source: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(Settings):
    """Everything that was configured, settled once at the start; the fields of `Settings` are its own.

    Paths are absolute. `sources` has one entry a value, for keys that add up one for each of their entries.
    `client_mcp_guarded` says that a session's own MCP servers may have public addresses alone.
    `secrets` are values that nothing may show, beside those of the environment.
    `mcp_withheld` are a project's servers that want trust or approval. `sessions_aside` says that the store was put
    aside for one command: what lies beside the sessions stays where it is.
    `environment` is the process's environment as it was read, secrets included. `warnings` are told once.
    """

    workspace_root: str = ""
    extra_roots: tuple[str, ...] = ()
    home: str = ""
    user_config_dir: str = ""
    state_dir: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = False
    sandboxed: bool = False
    no_stdio: bool = False
    client_mcp_guarded: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)
    sessions_aside: bool = False
    sources: Mapping[KeyPath, tuple[Source, ...]] = field(default_factory=dict)
    hook_definitions: tuple[HookDefinition, ...] = ()
    rule_files: tuple[RuleFile, ...] = ()
    rule_flags: tuple[PermissionRule, ...] = ()
    mcp_servers: tuple[ChosenServer, ...] = ()
    mcp_withheld: tuple[McpServerSpec, ...] = ()
    warnings: tuple[str, ...] = ()

    def with_store(self, store: str) -> "Config":
        """Return the configuration with its sessions put aside into another store."""
        return replace(self, sessions=replace(self.sessions, store=store), sessions_aside=True)

    def source(self, key: str) -> Source:
        """Return where the value of a dotted key comes from."""
        found = next((sources for path, sources in self.sources.items() if dotted(path) == key), ())
        return found[0] if found else Source()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The values that hold, by path, and the source of each."""

    values: Mapping[KeyPath, object]
    sources: Mapping[KeyPath, tuple[Source, ...]]


def merge(layers: Iterable[Layer]) -> Merged:
    """Return the values that hold: of single ones the strongest, of those that add up all of them."""
    values: dict[KeyPath, object] = {}
    sources: dict[KeyPath, tuple[Source, ...]] = {}
    for layer in _strongest_first(layers):
        for leaf in layer.leaves:
            given = _sources_of(leaf, layer)
            known = values.get(leaf.path)
            if leaf.adds and isinstance(known, tuple) and isinstance(leaf.value, tuple):
                values[leaf.path] = known + leaf.value
                sources[leaf.path] += given
            elif leaf.path not in values:
                values[leaf.path] = leaf.value
                sources[leaf.path] = given
    return Merged(values=values, sources=sources)


def _strongest_first(layers: Iterable[Layer]) -> list[Layer]:
    """Return the layers by rank, of one rank the last one first."""
    ordered = list(enumerate(layers))
    return [layer for _, layer in sorted(ordered, key=lambda pair: (pair[1].rank, -pair[0]))]


def _sources_of(leaf: Leaf, layer: Layer) -> tuple[Source, ...]:
    if not leaf.adds:
        return (Source(kind=layer.kind, name=layer.name, line=leaf.line),)
    return tuple(Source(kind=layer.kind, name=layer.name, line=line) for line in leaf.lines)


def settings_of(kind: type[T], values: Mapping[KeyPath, object], path: KeyPath = ()) -> T:
    """Return an instance of a settings class with the values below `path`, defaults elsewhere."""
    arguments: dict[str, object] = {}
    for name, key in section(kind).keys.items():
        below = (*path, name)
        if isinstance(key.shape, SectionShape):
            arguments[name] = settings_of(key.shape.kind, values, below)
        elif isinstance(key.shape, MapShape):
            arguments[name] = {p[-1]: value for p, value in values.items() if p[:-1] == below}
        elif below in values:
            arguments[name] = values[below]
    return kind(**arguments)


def configured(merged: Merged, hooks: tuple[HookDefinition, ...] = ()) -> Config:
    """Return the configuration that the merged values make, without anything of this machine."""
    settings = settings_of(Settings, merged.values)
    return Config(
        **{item.name: getattr(settings, item.name) for item in fields(Settings)},
        sources=merged.sources,
        hook_definitions=hooks,
    )


def hooks_of(layers: Iterable[Layer]) -> tuple[HookDefinition, ...]:
    """Return the hooks of the layers in the order in which they run: by scope, in a file as written."""
    found: list[HookDefinition] = []
    for layer in layers:
        for leaf in layer.leaves:
            if leaf.path[0] == "hooks" and isinstance(leaf.value, tuple):
                event = HookEvent(leaf.path[1])
                for hook, line in zip(leaf.value, leaf.lines, strict=True):
                    found.append(_hook(hook, event, layer, line))
    return tuple(sorted(found, key=lambda hook: HOOK_ORDER.index(hook.scope)))


def _hook(hook: HookSettings, event: HookEvent, layer: Layer, line: int) -> HookDefinition:
    return HookDefinition(
        event=event,
        name=hook.name or f"{event}@{layer.name}:{line}",
        match=hook.match,
        command=hook.command,
        url=hook.url,
        headers=hook.headers,
        timeout_s=hook.timeout_s,
        on_failure=hook.on_failure,
        scope=SCOPES[layer.rank],
        source=layer.name,
        line=line,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """A project's layer without what a project may not say, and what was left out."""

    layer: Layer
    operator_keys: tuple[str, ...] = ()
    untrusted: Mapping[str, int] = field(default_factory=dict)


def screen(layer: Layer, *, trusted: bool) -> Screened:
    """Return a project's layer without operator keys and, unless trusted, without allows, hooks, enables."""
    if layer.rank not in PROJECT:
        return Screened(layer=layer)
    kept: list[Leaf] = []
    operator: list[str] = []
    untrusted: dict[str, int] = {}
    for leaf in layer.leaves:
        what = "" if trusted else _needs_trust(leaf)
        if leaf.operator:
            operator.append(f"{dotted(leaf.path)} ({layer.name}:{leaf.line})")
        elif what:
            untrusted[what] = untrusted.get(what, 0) + len(leaf.lines)
        else:
            kept.append(leaf)
    return Screened(
        layer=Layer(rank=layer.rank, kind=layer.kind, name=layer.name, leaves=kept),
        operator_keys=tuple(operator),
        untrusted={what: count for what, count in untrusted.items() if count},
    )


def _needs_trust(leaf: Leaf) -> str:
    match leaf.path:
        case ("permissions", "allow"):
            return "allow rules"
        case ("hooks", _):
            return "hooks"
        case ("tools", "enable"):
            return "enabled categories"
        case _:
            return ""
