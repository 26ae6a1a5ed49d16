"""The entries of mcp.toml files as `hilt mcp` edits and shows them: never expanded, never with a secret."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hilt.adapters.mcp_approvals_file import McpApprovals
from hilt.adapters.mcp_config_file import add_server, read_servers, remove_server
from hilt.app.config import Config
from hilt.app.load import server_files
from hilt.app.load_mcp import ServerFile
from hilt.core.mcp import McpServerSpec, same_name_key
from hilt.core.mcp_entry import admitted
from hilt.core.mcp_url import check_url, shown_url

ServerScope = Literal["project", "user"]
SCOPES: tuple[ServerScope, ServerScope] = ("project", "user")
MASK = "[masked]"
_URL = re.compile(r"https?://[^\s\"']+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One entry, the scope that has it, and whether it may be connected."""

    spec: McpServerSpec
    scope: ServerScope
    admitted: bool


class ServerBook:
    """The project's file of servers and the user's."""

    def __init__(self, config: Config) -> None:
        self._root = Path(config.workspace_root)
        self._approvals = McpApprovals(Path(config.state_dir))
        self._trusted = config.trusted
        project, user = server_files(self._root, Path(config.user_config_dir), Path(config.home))
        self._files: Mapping[ServerScope, ServerFile] = {"project": project, "user": user}

    def shown(self, scope: ServerScope) -> str:
        """Return the file of a scope as messages name it."""
        return self._files[scope].shown

    def entries(self) -> list[ServerEntry]:
        """Return all entries, the project's first.

        Raises:
            ConfigError: A file is wrong.
        """
        approved = self._approvals.approved(self._root)
        return [
            ServerEntry(spec=spec, scope=scope, admitted=admitted(spec, trusted=self._trusted, approved=approved))
            for scope, file in self._files.items()
            for spec in read_servers(file.path, origin=file.origin, shown=file.shown)
        ]

    def named(self, name: str) -> list[ServerEntry]:
        """Return the entries of a name, written alike or not, the one that wins first."""
        return [entry for entry in self.entries() if same_name_key(entry.spec.name) == same_name_key(name)]

    def add(self, entry: Mapping[str, object], scope: ServerScope) -> McpServerSpec:
        """Add an entry in the file's keys; what the user adds to a project is approved with it.

        Raises:
            ConfigError: The entry is wrong or its name is taken; nothing is written.
        """
        file = self._files[scope]
        if "url" in entry:
            check_url(McpServerSpec(name=str(entry.get("name", "")), url=str(entry["url"]), source="--url"))
        spec = add_server(file.path, entry, origin=file.origin, shown=file.shown)
        if scope == "project":
            self._approvals.approve(self._root, spec)
        return spec

    def remove(self, name: str, scope: ServerScope) -> bool:
        """Remove the entry of exactly this name; False where there is none.

        Raises:
            ConfigError: The file is wrong or cannot be written.
        """
        file = self._files[scope]
        return remove_server(file.path, name, origin=file.origin, shown=file.shown)


def masked_url(text: str) -> str:
    """Return a text with the query, user and fragment of each URL in it masked."""

    def one(found: re.Match[str]) -> str:
        url = found[0]
        return shown_url(url) + (f"?{MASK}" if "?" in url else "")

    return _URL.sub(one, text)


def masked_entry(spec: McpServerSpec) -> dict[str, object]:
    """Return the keys that an entry sets, in the file's own words, every secret masked and no variable filled."""
    out: dict[str, object] = {"name": spec.name, "transport": spec.transport}
    if spec.transport == "stdio":
        out |= {"command": spec.command, "args": [masked_url(arg) for arg in spec.args]}
        out |= {"env": dict.fromkeys(spec.env, MASK)} if spec.env else {}
        out |= {"cwd": spec.cwd} if spec.cwd else {}
    else:
        out["url"] = masked_url(spec.url)
        out |= {"headers": dict.fromkeys(spec.headers, MASK)} if spec.headers else {}
    default = McpServerSpec(name=spec.name)
    for key in (
        "enabled",
        "required",
        "protocol",
        "connect_timeout_s",
        "idle_timeout_s",
        "call_timeout_s",
        "insecure_http",
        "trust_annotations",
        "pass_headers",
    ):
        value = getattr(spec, key)
        if value != getattr(default, key):
            out[key] = value
    if spec.allow is not None or spec.deny:
        out["tools"] = {"allow": spec.allow, "deny": spec.deny}
    return out
