"""Reads the tokens of the service's callers: one of the environment, and a file of principals."""

import logging
import stat
from collections.abc import Mapping
from pathlib import Path

from hilt.app.config import Config
from hilt.core.errors import ConfigError

logger = logging.getLogger(__name__)

VARIABLE = "HILT_AUTH_TOKEN"
OPERATOR = ""


def load_tokens(config: Config) -> Mapping[str, str]:
    """Return the principal of each token; the one of the environment is that of whoever runs the service.

    A line of the file is a principal and its token with white space between; empty lines and those that begin with `#`
    are passed over.

    Raises:
        ConfigError: The file cannot be read, a line is of another form, or a token stands there twice. It shows none.
    """
    own = config.environment.get(VARIABLE, "").strip()
    tokens = {own: OPERATOR} if own else {}
    named = config.serve.auth.token_file
    if named is None:
        return tokens
    source = f"{config.source('serve.auth.token_file')}: {Path(named).name}"
    for number, line in enumerate(_read(named, config, source).splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2:
            raise ConfigError("a line is PRINCIPAL TOKEN", source=source, line=number)
        if words[1] in tokens:
            raise ConfigError(f"the token of {words[0]!r} stands there already", source=source, line=number)
        tokens[words[1]] = words[0]
    if not tokens:
        raise ConfigError("holds no token", source=source)
    return tokens


def _read(named: str, config: Config, source: str) -> str:
    path = Path(config.home, named[2:]) if named.startswith("~/") else Path(named)
    try:
        if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            logger.warning("token_file_readable_by_others file=%s", path.name)
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", source=source) from None
    except OSError as exc:
        raise ConfigError(f"cannot be read: {exc.strerror}", source=source) from None
