"""Public reports on servers without prompts or resources, or with nothing else."""

from pathlib import Path

import pytest

from tests.mcp_servers.kit import mounted, read_log, replay_stdio, tool_of


def _asked(log: Path) -> list[object]:
    received = [line["recv"] for line in read_log(log) if "recv" in line]
    return [message.get("method") for message in received if isinstance(message, dict)]


@pytest.mark.req("MCP-57")
async def test_n2_what_a_server_does_not_offer_is_not_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with mounted(replay_stdio("n2_no_prompts", tmp_path)) as manager:
        assert tool_of(manager, "echo").server
    asked = _asked(tmp_path / "near.log")
    assert "prompts/list" not in asked
    assert "resources/list" not in asked
    assert caplog.records == []


@pytest.mark.req("MCP-57")
async def test_n5_a_server_with_resources_only_is_connected(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with mounted(replay_stdio("n5_resources_only", tmp_path)) as manager:
        assert [(report.state, report.tools) for report in manager.reports()] == [("ready", 0)]
    assert caplog.records == []
