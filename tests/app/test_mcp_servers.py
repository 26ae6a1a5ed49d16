"""Servers of the settings where hilt was installed without an MCP client."""

import logging
from pathlib import Path

import pytest

from hilt import McpServerSpec, build
from hilt.app import mcp_servers
from hilt.core.errors import ConfigError

SPEC = McpServerSpec(name="git", transport="stdio", command="no-such-command")


@pytest.fixture
def no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_servers, "CLIENT_LIBRARY", "no_such_library")


@pytest.mark.req("CLI-10")
@pytest.mark.usefixtures("no_client")
async def test_without_a_client_the_servers_are_told_once_and_the_rest_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with build(workspace=tmp_path, enable={"files.read"}, mcp_servers=[SPEC]) as app:
            assert app.catalog.lookup("Read") is not None
            assert not app.mcp
    told = [record.getMessage() for record in caplog.records if "mcp_servers_not_used" in record.message]
    assert len(told) == 1
    assert "count=1" in told[0]


@pytest.mark.usefixtures("no_client")
async def test_a_required_server_without_a_client_stops_the_start(tmp_path: Path) -> None:
    required = McpServerSpec(name="git", transport="stdio", command="x", required=True)
    with pytest.raises(ConfigError, match="'git' is required"):
        async with build(workspace=tmp_path, mcp_servers=[required]):
            pass


@pytest.mark.usefixtures("no_client")
async def test_without_servers_nothing_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with build(workspace=tmp_path):
        pass
    assert not caplog.records
