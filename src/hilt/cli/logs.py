"""Logging of a command: to standard error, secrets masked, as text or JSON lines."""

import json
import logging
import sys
from copy import copy
from datetime import UTC, datetime
from typing import TextIO

from hilt.app.config import Config
from hilt.app.secrets import redactor
from hilt.core.redaction import Redactor

logger = logging.getLogger("hilt.config")


class MaskedFormatter(logging.Formatter):
    """One line a record, with known secrets masked; as JSON with the keys time, level, logger and event."""

    def __init__(self, mask: Redactor, *, as_json: bool) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")
        self._mask = mask
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        if record.exc_info and not logging.getLogger("hilt").isEnabledFor(logging.DEBUG):
            # A person gets the line; the traceback is for --log-level debug.
            record = copy(record)
            kind = record.exc_info[0] if record.exc_info else None
            record.msg, record.args = f"{record.getMessage()} error={kind.__name__ if kind else '?'}", None
            record.exc_info = record.exc_text = None
        if not self._as_json:
            return self._mask.redact(super().format(record))
        body = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if record.exc_info:
            body["traceback"] = self.formatException(record.exc_info)
        return self._mask.redact(json.dumps(body, ensure_ascii=False))


class LineHandler(logging.StreamHandler[TextIO]):
    """Writes lines to standard error; on a terminal each takes the place of a line that shows progress."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        if self.stream.isatty():
            self.stream.write("\r\x1b[K")
        super().emit(record)


def quiet_logging() -> None:
    """Keep the log to errors: for a command that tells itself what would be warned of."""
    logging.getLogger("hilt").setLevel(logging.ERROR)


def _level(config: Config) -> str:
    """Return the level: the settings', but a person at a terminal who chose none is spared what is no warning."""
    chosen = config.source("log.level").kind != "default"
    return "warning" if sys.stderr.isatty() and not chosen and config.log.level == "info" else config.log.level


def set_up_logging(config: Config, *, quiet: bool = False) -> None:
    """Send the log to standard error, other libraries' from WARNING on, and tell the configuration's warnings."""
    handler = LineHandler(sys.stderr)
    handler.setFormatter(MaskedFormatter(redactor(config.environment), as_json=config.log.json))
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old.formatter, MaskedFormatter)]:
        root.removeHandler(old)
    root.addHandler(handler)
    level = "error" if quiet else _level(config)
    debug = level == "debug"
    root.setLevel(logging.DEBUG if debug else max(logging.WARNING, logging.getLevelName(level.upper())))
    logging.getLogger("hilt").setLevel(level.upper())
    for noisy in ("httpx2", "httpcore2", "mcp", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    for warning in config.warnings:
        logger.warning("%s", warning)
