"""The entries of mcp.toml files as `hilt mcp` shows and edits them: never expanded, never with a secret."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from hilt.adapters.mcp_approvals_file import McpApprovals
from hilt.adapters.mcp_config_file import add_server, read_servers, remove_server
from hilt.app.config import Config
from hilt.app.flags import Flags
from hilt.app.load import Locations, merge_trust, process_environment, server_files, workspace_of
from hilt.app.load_mcp import ServerFile
from hilt.core.errors import ConfigError
from hilt.core.mcp import McpServerSpec
from hilt.core.mcp_entry import admitted
from hilt.core.mcp_url import shown_url

ServerScope = Literal["project", "user"]
MASK = "[masked]"
_URL = re.compile(r"https?://[^\s\"']+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One entry and the scope that has it; `admitted` says whether it may be connected."""

    spec: McpServerSpec
    scope: ServerScope
    admitted: bool


class ServerBook:
    """The two files of servers, the project's first."""

    def __init__(self, flags: Flags) -> None:
        environment = process_environment()
        self._root = workspace_of(flags, environment, Path.cwd())
        places = Locations.of(environment)
        self._approvals = McpApprovals(places.state_dir)
        project, user = server_files(self._root, places)
        self._files: Mapping[ServerScope, ServerFile] = {"project": project, "user": user}
        self._trusted = flags.trust_project

    def entries(self, scope: ServerScope | None = None) -> list[ServerEntry]:
        """Return the entries of one scope or both, the project's first.

        Raises:
            ConfigError: A file is wrong.
        """
        approved = self._approvals.approved(self._root)
        return [
            ServerEntry(
                spec=spec,
                scope=name,
                admitted=admitted(spec, trusted=self._trusted, approved=approved),
            )
            for name, file in self._files.items()
            if scope in (None, name)
            for spec in read_servers(file.path, origin=file.origin, shown=file.shown)
        ]
