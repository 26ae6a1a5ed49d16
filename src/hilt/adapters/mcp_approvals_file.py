"""Keeps which entries of which project the user has approved, as digests in the state directory."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from hilt.adapters._files import replace_file
from hilt.core.errors import ConfigError
from hilt.core.mcp import McpServerSpec
from hilt.core.mcp_entry import entry_digest

FILE_NAME: Final = "mcp-approvals.json"
LOCK_S: Final = 10.0
_SHOWN: Final = "the approvals of MCP servers"


class McpApprovals:
    """The approved entries; `directory` is the state directory. A damaged file approves nothing."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE_NAME

    def approved(self, project: Path) -> frozenset[str]:
        """Return the digests of the approved entries of a project."""
        return frozenset(self._read().get(_key(project), ()))

    def approve(self, project: Path, spec: McpServerSpec) -> None:
        """Approve exactly this entry of the project.

        Raises:
            ConfigError: It cannot be written.
        """
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._path.with_name(f".{FILE_NAME}.lock"), timeout=LOCK_S):
                projects = self._read()
                digests = {*projects.get(_key(project), ()), entry_digest(spec)}
                self._write({**projects, _key(project): sorted(digests)})
        except Timeout:
            raise ConfigError("another process writes them; try again", source=_SHOWN) from None
        except OSError as exc:
            raise ConfigError(f"cannot be written: {exc.strerror}", source=_SHOWN) from exc

    def _read(self) -> dict[str, list[str]]:
        try:
            document = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        projects = document.get("projects") if isinstance(document, Mapping) else None
        if not isinstance(projects, Mapping):
            return {}
        return {
            str(project): [digest for digest in digests if isinstance(digest, str)]
            for project, digests in projects.items()
            if isinstance(digests, list)
        }

    def _write(self, projects: Mapping[str, object]) -> None:
        document = {"version": 1, "projects": projects}
        replace_file(self._path, json.dumps(document, ensure_ascii=True, indent=1).encode())


def _key(project: Path) -> str:
    return str(project.resolve())
