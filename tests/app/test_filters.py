"""Filters of settings and sessions: an allowed name that no tool has is told, once where it was written."""

import logging
from pathlib import Path

import pytest

from hilt.app.config import Config
from hilt.app.settings import ToolSettings
from hilt.core.session import ToolFilter
from tests.app.house import house
from tests.flows.kit import says


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was told since the last look."""
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    caplog.clear()
    return lines


@pytest.mark.req("CAT-72")
async def test_an_allowed_name_that_no_tool_has_is_told_once_where_it_was_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = Config(tools=ToolSettings(enable=(), allow=("Look", "Nope"), deny=("Never",)))
    async with house(tmp_path, config=config, tools=[says("Look")]) as home:
        assert told(caplog) == ["tool_filter_names_unknown allow=Nope"]
        await home.app.sessions.create()
        session = await home.app.sessions.create(tools=ToolFilter(allow=("Look", "Loook"), deny=("Never",)))
        assert told(caplog) == ["tool_filter_names_unknown allow=Loook"]
        await session.set(tools=ToolFilter(allow=("Lok",)))
        assert told(caplog) == ["tool_filter_names_unknown allow=Lok"]
        await session.set(tools=ToolFilter(allow=("Lo*",)))
        assert told(caplog) == []
