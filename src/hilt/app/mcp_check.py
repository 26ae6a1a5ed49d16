"""Connects the configured MCP servers and says what each of them is and gives: `hilt mcp check`."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hilt.app.build import build
from hilt.app.config import Config
from hilt.core.errors import RequestError
from hilt.core.mcp import ChosenServer, McpServerSpec, same_name_key
from hilt.core.mcp_entry import MissingVariableError, prepare_server, secret_values
from hilt.mcp.listing import ListedTool, WithheldTool
from hilt.mcp.server import McpServer

CheckState = Literal["ready", "failed", "disabled", "needs trust", "left out"]
BYTES_A_TOKEN = 4
"""Tokens are an estimate: a quarter of the bytes of the definitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedServer:
    """What was found of one server; counts and times are of this connection, `tokens` is an estimate.

    `cause` says why it is not ready; `connect_s` is the time until its tools were listed.
    """

    name: str
    origin: str
    transport: str
    state: CheckState
    required: bool = False
    credential: Literal["none", "token"] = "none"
    cause: str = ""
    era: str = ""
    revision: str = ""
    server: str = ""
    connect_s: float = 0.0
    tools: int = 0
    resources: int = 0
    prompts: int = 0
    tokens: int = 0
    repaired: Sequence[tuple[str, str]] = ()
    withheld: Sequence[WithheldTool] = ()

    @property
    def fine(self) -> bool:
        """Whether there is nothing to mend."""
        return self.state in ("ready", "disabled") and not self.withheld


async def check_servers(config: Config, names: Collection[str] = ()) -> list[CheckedServer]:
    """Connect the servers side by side and return what was found, in the order of their sources.

    With `names` only these. A server that fails costs no other one; afterwards every connection is closed.

    Raises:
        RequestError: No server has one of the names; lists those that there are.
    """
    chosen = [one for one in config.mcp_servers if _wanted(one.spec, names)]
    known = {same_name_key(one.spec.name) for one in config.mcp_servers}
    elsewhere = not names or any(same_name_key(name) not in known for name in names)
    bare = replace(
        config,
        mcp_servers=tuple(replace(one, spec=replace(one.spec, required=False)) for one in chosen),
        mcp=replace(
            config.mcp, wait="all", resource_tools=True, prompts=True, toolhive=config.mcp.toolhive and elsewhere
        ),
    )
    async with build(config=bare, store="memory:", enable=()) as app:
        running = {server.spec.name: server for manager in app.mcp for server in manager.servers}
        found = [_checked(one, config, running.get(one.spec.name)) for one in chosen]
        mine = {one.spec.name for one in chosen}
        found += [_ready(server) for server in running.values() if server.spec.name not in mine]
    found += [
        _held(spec, "needs trust", "it is approved with `hilt mcp add`, or with --trust-project")
        for spec in config.mcp_withheld
    ]
    found = [one for one in found if not names or same_name_key(one.name) in {same_name_key(n) for n in names}]
    _check_names(names, found, config)
    return found


def _wanted(spec: McpServerSpec, names: Collection[str]) -> bool:
    return not names or same_name_key(spec.name) in {same_name_key(name) for name in names}


def _check_names(names: Collection[str], found: Sequence[CheckedServer], config: Config) -> None:
    there = {same_name_key(one.name) for one in found}
    missing = [name for name in names if same_name_key(name) not in there]
    if missing:
        known = ", ".join(one.spec.name for one in config.mcp_servers) or "none"
        raise RequestError(f"no MCP server {missing[0]!r} (known: {known})", code="not_found")


def _checked(one: ChosenServer, config: Config, server: McpServer | None) -> CheckedServer:
    if not one.spec.enabled:
        return _held(one.spec, "disabled", "")
    if server is not None:
        return replace(_ready(server), required=one.spec.required)
    try:
        prepare_server(one, config.environment)
    except MissingVariableError as exc:
        return _held(one.spec, "left out", str(exc))
    return _held(one.spec, "left out", "it is not mounted")


def _held(spec: McpServerSpec, state: CheckState, cause: str) -> CheckedServer:
    return CheckedServer(
        name=spec.name, origin=spec.origin, transport=spec.transport, state=state, required=spec.required, cause=cause
    )


def _ready(server: McpServer) -> CheckedServer:
    spec, facts, lists = server.spec, server.facts, server.lists
    ready = server.state == "ready"
    return CheckedServer(
        name=spec.name,
        origin=spec.origin,
        transport=spec.transport,
        state="ready" if ready else "failed",
        credential="token" if spec.transport != "stdio" and secret_values(spec) else "none",
        cause=server.cause if not ready else "",
        era=facts.era if ready else "",
        revision=facts.revision,
        server=" ".join(part for part in (facts.name, facts.version) if part),
        connect_s=server.connect_s,
        tools=len(server.listing.tools),
        resources=len(lists.resources.known),
        prompts=len(lists.prompts.known),
        tokens=definition_tokens(server.listing.tools),
        repaired=tuple(_repairs(server.listing.tools)),
        withheld=server.listing.withheld,
    )


def _repairs(tools: Sequence[ListedTool]) -> Iterator[tuple[str, str]]:
    for tool in tools:
        for what in tool.repaired:
            yield tool.name, what


def definition_tokens(tools: Sequence[ListedTool]) -> int:
    """Return about how many tokens the definitions of tools take in a request: a quarter of their bytes."""
    return sum(len(tool.spec.to_json().encode("utf-8", "surrogatepass")) for tool in tools) // BYTES_A_TOKEN
