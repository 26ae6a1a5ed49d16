"""Which values are secrets: known keys and tokens of the environment, and whatever the settings expand."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from hilt.app.config import Config
from hilt.core.mcp import McpServerSpec
from hilt.core.mcp_entry import secret_values as server_secrets
from hilt.core.redaction import Redactor

ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIAL", "_CREDENTIALS")
SHORTEST = 6


def secret_values(environment: Mapping[str, str], further: Iterable[str] = ()) -> frozenset[str]:
    """Return the values of variables with a telling name, and further ones, of 6 characters or more.

    A value that is an absolute path is a place where a secret lies, and no secret.
    """
    named = (
        value for name, value in environment.items() if name.upper().endswith(ENDINGS) and not value.startswith("/")
    )
    return frozenset(value for value in (*named, *further) if len(value) >= SHORTEST)


def redactor(environment: Mapping[str, str], further: Iterable[str] = ()) -> Redactor:
    """Return the redactor of the process."""
    return Redactor(secret_values(environment, further))


def configured_secrets(config: Config, servers: Iterable[McpServerSpec]) -> list[str]:
    """Return the secrets of MCP servers, tokens, the search engine's key, and this agent's as it lies on the disk."""
    hidden = [value for spec in servers for value in server_secrets(spec)]
    hidden.append(config.environment.get(config.web.search.key_env or "", ""))
    hidden += config.secrets
    return hidden + (_lines(peer_key_file(config)) if config.comms.peers and config.state_dir else [])


def peer_key_file(config: Config) -> Path:
    """Return where the key of the agent lies that the settings name."""
    return Path(config.state_dir) / "comms" / f"{config.comms.name or 'agent'}.key"


def _lines(file: Path) -> list[str]:
    """Return the lines of a key but for those that frame it, none where it cannot be read."""
    try:
        return [line for line in file.read_text("ascii").splitlines() if not line.startswith("-")]
    except (OSError, ValueError):
        return []
