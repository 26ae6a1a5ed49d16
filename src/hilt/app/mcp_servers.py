"""Which MCP servers an application mounts: prepared entries, and what each left-out one is told for."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Final

from hilt.app.config import Config
from hilt.core.address import UrlRefusedError, validate_media_url
from hilt.core.errors import ConfigError, RequestError
from hilt.core.mcp import ChosenServer, McpServerSpec, check_distinct, check_server_name, same_name_key
from hilt.core.mcp_entry import MissingVariableError, prepare_server
from hilt.core.mcp_header import header_fault
from hilt.core.mcp_url import is_loopback
from hilt.core.permission import Effect, PermissionRule
from hilt.engine.catalog import CLIENT_FAMILY, Catalog
from hilt.mcp.server import McpServer
from hilt.mcp.tools import RemoteTool

logger = logging.getLogger(__name__)

CLIENT_LIBRARY: Final = "mcp"
CLIENT_SERVERS_MAX: Final = 8
CLIENT_CONNECT_S: Final = 10.0
_REFUSED_HEADERS: Final = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "trailers",
        "transfer-encoding",
        "upgrade",
    }
)


def mounted_servers(config: Config, given: Sequence[McpServerSpec]) -> list[McpServerSpec]:
    """Return the entries that are to be dialled: the host's own, then those of the settings.

    A disabled entry, and one whose variable is missing, are left out; the latter is told at WARN. A project's
    entries that want trust or approval never get here: `load_config` keeps them apart.

    Raises:
        ConfigError: A name or address is not allowed, or a process would start in spite of `--no-stdio`.
    """
    for spec in given:
        check_server_name(spec.name, source="mcp_servers")
    check_distinct(given)
    names = {spec.name for spec in given}
    chosen = [ChosenServer(spec=spec) for spec in given]
    chosen += [server for server in config.mcp_servers if server.spec.name not in names]
    prepared: list[McpServerSpec] = []
    for server in chosen:
        spec = server.spec
        if not spec.enabled:
            continue
        if config.no_stdio and spec.transport == "stdio":
            raise ConfigError(
                f"MCP server {spec.name!r} is a process, which --no-stdio forbids", source=spec.source or None
            )
        _tell_hidden(server)
        try:
            prepared.append(prepare_server(server, config.environment))
        except MissingVariableError as exc:
            logger.warning("mcp_server_left_out server=%s why=%s", spec.name, exc)
    return prepared if has_client() else _unused(prepared)


def has_client() -> bool:
    """Tell whether the library that MCP servers are reached through is installed; it is not loaded."""
    return find_spec(CLIENT_LIBRARY) is not None


def _unused(servers: Sequence[McpServerSpec]) -> list[McpServerSpec]:
    required = [server.name for server in servers if server.required]
    if required:
        raise ConfigError(
            f"MCP server {required[0]!r} is required and there is no MCP client: install {CLIENT_LIBRARY}"
        )
    if servers:
        logger.warning(
            "mcp_servers_not_used count=%d: hilt was installed without an MCP client; install %s",
            len(servers),
            CLIENT_LIBRARY,
        )
    return []


def client_servers(config: Config, given: Sequence[McpServerSpec]) -> list[McpServerSpec]:
    """Return the entries that the creator of a session brings, ready to dial; they see nothing of the environment.

    Raises:
        RequestError: There are too many, a name, address or header is not allowed, an entry names a variable, or a
            process would start in spite of `--no-stdio`. It shows no value of a header.
    """
    if len(given) > CLIENT_SERVERS_MAX:
        raise RequestError(f"{len(given)} MCP servers are brought; {CLIENT_SERVERS_MAX} are the most")
    try:
        check_distinct(given)
        ready = [_client_server(spec, public=config.client_mcp_guarded) for spec in given]
    except MissingVariableError as exc:
        what = exc.variable if not exc.field.startswith("headers.") else "a variable"
        raise RequestError(f"{exc.field} of an MCP server names {what}; no variable is filled in here") from None
    except (ConfigError, UrlRefusedError) as exc:
        raise RequestError(str(exc)) from exc
    process = next((spec.name for spec in ready if spec.transport == "stdio"), None)
    if config.no_stdio and process is not None:
        raise RequestError(f"MCP server {process!r} is a process, which --no-stdio forbids", code="forbidden")
    return ready


def _client_server(given: McpServerSpec, *, public: bool) -> McpServerSpec:
    """Return one entry as it is dialled; with `public` its address must be one that may be fetched for a caller.

    Raises:
        ConfigError: It is not allowed.
        UrlRefusedError: Its address is not public.
    """
    check_server_name(given.name, source="mcp_servers")
    asked = replace(
        given,
        origin="client",
        source="mcp_servers",
        required=False,
        insecure_http=False,
        pass_headers=None,
        connect_timeout_s=min(given.connect_timeout_s, CLIENT_CONNECT_S),
    )
    ready = prepare_server(ChosenServer(spec=asked), {})
    if ready.transport == "stdio":
        return ready
    if public:
        validate_media_url(ready.url)
    scheme = ready.url.partition(":")[0].lower()
    if scheme != "https" and not is_loopback(ready.url):
        raise ConfigError(f"MCP server {given.name!r}: its URL is neither https nor on this machine", key="url")
    for name, value in ready.headers.items():
        fault = header_fault(name, value)
        if fault:
            raise ConfigError(f"MCP server {given.name!r}: {fault}", key="headers")
        key = name.strip().lower()
        if key in _REFUSED_HEADERS or key.startswith("mcp-"):
            raise ConfigError(f"MCP server {given.name!r} may not set the header {name!r}", key="headers")
    return ready


def client_names(catalog: Catalog, servers: Sequence[McpServer]) -> frozenset[str]:
    """Return the tools of a session's own servers that bear the name of a server of the process."""
    shared = {same_name_key(server.spec.name) for server in servers}
    return frozenset(
        entry.spec.name
        for entry in catalog.entries()
        if entry.family == CLIENT_FAMILY
        and isinstance(entry.tool, RemoteTool)
        and same_name_key(entry.tool.server) in shared
    )


def sparing(rules: Sequence[PermissionRule], names: frozenset[str]) -> Sequence[PermissionRule]:
    """Return the rules with no allow among them that covers the named tools; asks and denies stay as they are."""
    if not names:
        return rules
    return [replace(rule, spares=names) if rule.effect is Effect.ALLOW else rule for rule in rules]


def _tell_hidden(server: ChosenServer) -> None:
    for loser in server.hidden:
        logger.warning(
            "mcp_server_hidden server=%s winner=%s loser=%s",
            server.spec.name,
            server.spec.origin,
            loser.origin,
        )
