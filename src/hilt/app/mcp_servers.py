"""Which MCP servers an application mounts: prepared entries, and what each left-out one is told for."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from hilt.app.config import Config
from hilt.core.errors import ConfigError, RequestError
from hilt.core.mcp import ChosenServer, McpServerSpec, check_distinct, check_server_name
from hilt.core.mcp_entry import MissingVariableError, prepare_server

logger = logging.getLogger(__name__)


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
    return prepared


def client_servers(config: Config, given: Sequence[McpServerSpec]) -> list[McpServerSpec]:
    """Return the entries that the creator of a session brings, ready to dial; they see nothing of the environment.

    Raises:
        RequestError: A name or address is not allowed, an entry names a variable, or a process would start in
            spite of `--no-stdio`.
    """
    try:
        for spec in given:
            check_server_name(spec.name, source="mcp_servers")
        check_distinct(given)
        asked = [ChosenServer(spec=replace(spec, origin="client", required=False)) for spec in given]
        ready = [prepare_server(server, {}) for server in asked]
    except ConfigError as exc:
        raise RequestError(str(exc)) from exc
    process = next((spec.name for spec in ready if spec.transport == "stdio"), None)
    if config.no_stdio and process is not None:
        raise RequestError(f"MCP server {process!r} is a process, which --no-stdio forbids", code="forbidden")
    return ready


def _tell_hidden(server: ChosenServer) -> None:
    for loser in server.hidden:
        logger.warning(
            "mcp_server_hidden server=%s winner=%s loser=%s",
            server.spec.name,
            server.spec.origin,
            loser.origin,
        )
