"""MCP servers as values: their entries, their names, and which source wins."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from hilt.core.errors import ConfigError

Transport = Literal["http", "sse", "stdio"]
Protocol = Literal["auto", "handshake", "stateless"]
ServerOrigin = Literal["flag", "profile", "project", "user", "toolhive", "client"]

NAME_MAX = 64
FLAG = "--mcp-server"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_RANK: Mapping[str, int] = {"flag": 0, "profile": 1, "project": 2, "user": 3, "toolhive": 4, "client": 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSpec:
    """One server entry (mcp-client.md MCP-18).

    `url` for http and sse, `command` for stdio; times in seconds.
    """

    name: str
    transport: Transport = "http"
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    enabled: bool = True
    required: bool = False
    protocol: Protocol = "auto"
    connect_timeout_s: float = 30.0
    idle_timeout_s: float = 120.0
    call_timeout_s: float = 600.0
    insecure_http: bool = False
    trust_annotations: bool = True
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    pass_headers: tuple[str, ...] | None = None
    origin: ServerOrigin = "user"
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLimits:
    """Bounds of the client; times in seconds, sizes in bytes. Tests make them small."""

    message_max_bytes: int = 64 * 1024 * 1024
    probe_s: float = 5.0
    first_pause_s: float = 1.0
    pages_max: int = 1000
    entries_max: int = 10_000
    dials_at_once: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenServer:
    """An entry that won its name, and the entries of weaker sources that it hides."""

    spec: McpServerSpec
    hidden: tuple[McpServerSpec, ...] = ()


def folded(name: str) -> str:
    """Return the server name as it stands in catalog names: `-` is `_`."""
    return name.replace("-", "_")


def catalog_name(server: str, tool: str) -> str:
    """Return `mcp__<folded server>__<tool>`; nothing ever takes it apart again."""
    return f"mcp__{folded(server)}__{tool}"


def token_variable(name: str) -> str:
    """Return the environment variable that holds the server's bearer token."""
    return f"MCP_{folded(name).upper()}_TOKEN"


def check_server_name(name: str, *, source: str | None = None) -> None:
    """Check a server's name.

    Raises:
        ConfigError: It is not 1 to 64 of `A-Za-z0-9_-`, or its folded form holds `__` or ends in `_`, so that
        a
            catalog name could be read in two ways.
    """
    shown = repr(name[: NAME_MAX + 16])
    if not _NAME.match(name):
        raise ConfigError(
            f"the MCP server name {shown} is not allowed; use 1 to {NAME_MAX} of A-Z a-z 0-9 _ -",
            source=source,
        )
    if "__" in folded(name) or folded(name).endswith("_"):
        raise ConfigError(
            f"the MCP server name {shown} is not allowed; no two of _ - side by side, none at the end",
            source=source,
        )


def same_name_key(name: str) -> str:
    """Return what two names share when they count as one name."""
    return folded(name).lower()


def check_distinct(specs: Iterable[McpServerSpec]) -> None:
    """Check that the entries of one source have distinct names.

    Raises:
        ConfigError: Two folded names differ at most in case; names both.
    """
    seen: dict[str, McpServerSpec] = {}
    for spec in specs:
        other = seen.setdefault(same_name_key(spec.name), spec)
        if other is not spec:
            raise ConfigError(
                f"two MCP servers have one name: {other.name!r} and {spec.name!r}; rename one",
                source=spec.source,
            )


def parse_server_flag(text: str) -> McpServerSpec:
    """Return the entry of `--mcp-server NAME=URL`, cut at the first `=`.

    Raises:
        ConfigError: There is no `=`, or the name is not allowed. The URL is checked when it is prepared.
    """
    name, separator, url = text.partition("=")
    if not separator or not url:
        raise ConfigError("write it as NAME=URL", source=FLAG, key=repr(name[:80]))
    check_server_name(name, source=FLAG)
    return McpServerSpec(name=name, url=url, origin="flag", source=FLAG)


def merge_servers(specs: Sequence[McpServerSpec]) -> list[ChosenServer]:
    """Return one entry for each name; the first source wins, in the order of MCP-04.

    The result is in the order of the sources, and in the order of the entries within one.

    Raises:
        ConfigError: One source has a name twice.
    """
    by_source: dict[tuple[str, str], list[McpServerSpec]] = {}
    for spec in specs:
        by_source.setdefault((spec.origin, spec.source), []).append(spec)
    for group in by_source.values():
        check_distinct(group)
    chosen: dict[str, ChosenServer] = {}
    for spec in sorted(specs, key=lambda spec: _RANK[spec.origin]):
        key = same_name_key(spec.name)
        winner = chosen.get(key)
        if winner is None:
            chosen[key] = ChosenServer(spec=spec)
        else:
            chosen[key] = replace(winner, hidden=(*winner.hidden, spec))
    return list(chosen.values())
