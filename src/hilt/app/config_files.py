"""Checks and makes settings files: `hilt config validate` and `hilt config init`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hilt.adapters.mcp_config_file import read_servers
from hilt.adapters.permission_file import read_settings
from hilt.app.config import Rank
from hilt.app.flags import Flags
from hilt.app.load import Locations, load_config, process_environment, read_layer, workspace_of
from hilt.core.errors import ConfigError

FileScope = Literal["project", "local", "user"]

TEMPLATE = """\
# Settings of hilt. Every key is optional; `hilt config show` lists what holds and where it comes from.
# Keys marked o are read from the user's settings alone, not from a project's.

# model: anthropic/claude-sonnet-4-5      # provider/name, or scripted:FILE
# mode: default                           # plan, default, accept-edits or auto              o
# limits: {max_turns: 2000, max_seconds: null}
# tools:
#   enable: [files.read]                  # a project's counts only with trust
#   deny: []                              # tools that nobody sees
permissions:
  allow: []
  # - "Write(docs/*)"
  # - "mcp__github__*"
  ask: []
  deny:
    - "Read(.env*)"
# hooks:                                  # a project's count only with trust
#   PreToolUse: [{name: no-prod, match: [shell], command: ./tools/check.py}]
# shell: {policy: {mode: deny_list, patterns: ["rm *"]}}                                     # o
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong, with the place to mend."""

    message: str
    source: str = ""
    line: int = 0
    key: str = ""

    def to_json(self) -> Mapping[str, object]:
        """Return the problem as a JSON object."""
        return {"source": self.source, "line": self.line, "key": self.key, "message": self.message}


def problem_of(error: ConfigError) -> Problem:
    """Return the problem that an error tells."""
    return Problem(message=str(error), source=error.source or "", line=error.line or 0, key=error.key or "")


def check_file(name: str) -> list[Problem]:
    """Return what is wrong with one file: settings, or servers if its name ends in .toml."""
    path = Path(name)
    try:
        if path.suffix == ".toml":
            if not path.is_file():
                raise ConfigError("there is no such file", source=name)
            read_servers(path, origin="user", shown=name)
        else:
            text = read_settings(name, shown=name)
            if text is None:
                raise ConfigError("there is no such file", source=name)
            read_layer(text, rank=Rank.USER, shown=name)
    except ConfigError as exc:
        return [problem_of(exc)]
    return []


def check_all(flags: Flags) -> list[Problem]:
    """Return what is wrong with the files, flags and variables that count here, at most the first of each load."""
    try:
        load_config(flags)
    except ConfigError as exc:
        return [problem_of(exc)]
    return []


def write_template(flags: Flags, scope: FileScope) -> str:
    """Make a settings file with the usual keys as comments and return its name in messages.

    Raises:
        ConfigError: It exists, or cannot be written.
    """
    environment = process_environment()
    places = Locations.of(environment)
    root = workspace_of(flags, environment, Path.cwd())
    paths = {
        "project": root / ".hilt" / "settings.yaml",
        "local": root / ".hilt" / "settings.local.yaml",
        "user": places.user_config_dir / "settings.yaml",
    }
    path = paths[scope]
    shown = places.shown(path) if scope == "user" else str(path.relative_to(root))
    if path.exists():
        raise ConfigError("exists already; edit it, or remove it first", source=shown)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except OSError as exc:
        raise ConfigError(f"cannot be written: {exc.strerror}", source=shown) from None
    return shown
