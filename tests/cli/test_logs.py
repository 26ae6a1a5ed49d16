"""What the log of a command shows to whom."""

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from hilt.app.config import Config
from hilt.app.settings import LogSettings
from hilt.cli.logs import MaskedFormatter, set_up_logging
from hilt.core.redaction import Redactor


def record_with_traceback() -> logging.LogRecord:
    """Return the record of an error that was caught."""
    try:
        raise FileNotFoundError(2, "gone", "/secret/place")
    except FileNotFoundError:
        return logging.LogRecord("hilt.x", logging.ERROR, "x", 1, "tool_crashed call=%s", ("c1",), sys.exc_info())


@pytest.fixture
def hilt_level() -> Iterator[logging.Logger]:
    logger = logging.getLogger("hilt")
    before = logger.level
    yield logger
    logger.setLevel(before)


@pytest.mark.req("CLI-44")
@pytest.mark.parametrize("as_json", [False, True])
def test_a_traceback_is_for_the_debug_level_alone(hilt_level: logging.Logger, as_json: bool) -> None:
    formatter = MaskedFormatter(Redactor(), as_json=as_json)
    hilt_level.setLevel(logging.INFO)
    line = formatter.format(record_with_traceback())
    assert "Traceback" not in line
    assert "/secret/place" not in line
    assert "tool_crashed call=c1 error=FileNotFoundError" in line
    assert "\n" not in line
    hilt_level.setLevel(logging.DEBUG)
    assert "Traceback" in formatter.format(record_with_traceback())


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.mark.parametrize(
    ("stream", "level", "shown"),
    [(Terminal(), "info", False), (io.StringIO(), "info", True), (Terminal(), "debug", True)],
)
def test_a_person_at_a_terminal_is_spared_the_info_lines(
    monkeypatch: pytest.MonkeyPatch, hilt_level: logging.Logger, stream: io.StringIO, level: str, shown: bool
) -> None:
    root = logging.getLogger()
    handlers, root_level = list(root.handlers), root.level
    monkeypatch.setattr(sys, "stderr", stream)
    try:
        set_up_logging(Config(log=LogSettings(level=level)))  # type: ignore[arg-type]  # one of the levels
        logging.getLogger("hilt.x").info("told")
    finally:
        root.handlers, root.level = handlers, root_level
    assert ("told" in stream.getvalue()) is shown


def test_json_lines_stay_json(hilt_level: logging.Logger) -> None:
    hilt_level.setLevel(logging.INFO)
    body = json.loads(MaskedFormatter(Redactor(), as_json=True).format(record_with_traceback()))
    assert body["event"] == "tool_crashed call=c1 error=FileNotFoundError"
    assert "traceback" not in body
