"""Which MCP servers an application mounts: prepared entries, and what each left-out one is told for."""

import logging
from collections.abc import Sequence
from pathlib import Path

from hilt.adapters.mcp_approvals_file import McpApprovals
from hilt.app.config import Config
from hilt.core.errors import ConfigError
from hilt.core.mcp import ChosenServer, McpServerSpec, check_distinct, check_server_name
from hilt.core.mcp_entry import MissingVariableError, admitted, prepare_server

logger = logging.getLogger(__name__)


def mounted_servers(config: Config, given: Sequence[McpServerSpec]) -> list[McpServerSpec]:
    """Return the entries that are to be dialled: the host's own, then those of the settings.

    A disabled entry, one of a project that nobody approved, and one whose variable is missing are left out; the
    last two are told at WARN.

    Raises:
        ConfigError: A name or address is not allowed, or a process would start in spite of `--no-stdio`.
    """
    for spec in given:
        check_server_name(spec.name, source="mcp_servers")
    check_distinct(given)
    names = {spec.name for spec in given}
    chosen = [ChosenServer(spec=spec) for spec in given]
    chosen += [server for server in config.mcp_servers if server.spec.name not in names]
    approved = _approved(config)
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
        if not admitted(spec, trusted=config.trusted, approved=approved):
            logger.warning(
                "mcp_server_not_approved server=%s: trust the project (--trust-project) or add it by `hilt mcp add`",
                spec.name,
            )
            continue
        try:
            prepared.append(prepare_server(server, config.environment))
        except MissingVariableError as exc:
            logger.warning("mcp_server_left_out server=%s why=%s", spec.name, exc)
    return prepared


def _approved(config: Config) -> frozenset[str]:
    if not config.state_dir or not config.workspace_root:
        return frozenset()
    return McpApprovals(Path(config.state_dir)).approved(Path(config.workspace_root))


def _tell_hidden(server: ChosenServer) -> None:
    for loser in server.hidden:
        logger.warning(
            "mcp_server_hidden server=%s winner=%s loser=%s",
            server.spec.name,
            server.spec.origin,
            loser.origin,
        )
