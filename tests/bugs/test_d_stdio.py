"""Public reports on stdio servers: noise, floods, long lines, environments, exits, children."""

import os
from pathlib import Path

import anyio
import pytest

from hilt.ports.mcp import McpFault
from tests.mcp_servers.kit import call, dialled, mounted, read_log, replay_stdio, stdio_spec, tool_of


def _starts(log: Path) -> int:
    return sum("start" in line for line in read_log(log))


@pytest.mark.req("MCP-34")
async def test_d1_noise_on_standard_output_is_skipped_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with mounted(replay_stdio("d1_noise", tmp_path)) as manager:
        assert (await call(manager, "echo")).content == "fine"
        assert (await call(manager, "echo")).content == "fine"
    assert [r.getMessage() for r in caplog.records] == ["mcp_stdio_noise server=near excerpt=Loading plug-ins..."]
    assert _starts(tmp_path / "near.log") == 1


@pytest.mark.req("MCP-35")
async def test_d2_a_flood_on_standard_error_blocks_nothing(tmp_path: Path) -> None:
    async with mounted(replay_stdio("d2_stderr_flood", tmp_path)) as manager:
        for _ in range(3):
            assert (await call(manager, "echo", within_s=3)).content == "through"


@pytest.mark.req("MCP-28")
async def test_d3_long_lines_are_read_whole(tmp_path: Path) -> None:
    async with mounted(replay_stdio("d3_long_line", tmp_path)) as manager:
        assert len((await call(manager, "edge")).content) == 70_000
        assert len((await call(manager, "big")).content) == 8_388_608
        assert len((await call(manager, "edge")).content) == 70_000


@pytest.mark.req("MCP-33", "MCP-36")
@pytest.mark.parametrize("env", [{"API_TOKEN": "t", "EMPTY_ONE": ""}, {}])
async def test_d4_a_server_keeps_path_gets_its_own_variables_and_no_others(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "of the parent")
    missing = stdio_spec("no-such-command", name="missing", env=env)
    with anyio.fail_after(5):
        async with mounted(replay_stdio("d4_env", tmp_path, env=env), missing) as manager:
            seen = (await call(manager, "show_env")).content
            assert "no-such-command" in manager.reports()[1].cause
    assert f'"PATH": "{os.environ["PATH"]}"' in seen
    assert ('"API_TOKEN": "t"' in seen, '"API_TOKEN": null' in seen) == (bool(env), not env)
    assert ('"EMPTY_ONE": ""' in seen) is bool(env)


@pytest.mark.req("MCP-36", "MCP-50")
async def test_d5_an_exit_at_start_fails_that_server_at_once_with_its_reason(tmp_path: Path) -> None:
    with anyio.fail_after(4):
        async with mounted(
            replay_stdio("d5_exits", tmp_path), replay_stdio("d4_env", tmp_path, server="other")
        ) as manager:
            cause = manager.reports()[0].cause
            assert "3" in cause
            assert "no licence file" in cause
            assert tool_of(manager, "show_env").server
    assert _starts(tmp_path / "near.log") <= 2


@pytest.mark.req("MCP-37", "MCP-92")
async def test_d5_an_exit_in_a_call_fails_it_and_the_next_call_starts_the_process_once(tmp_path: Path) -> None:
    async with mounted(replay_stdio("d5_exits_mid_call", tmp_path)) as manager:
        first = await call(manager, "echo", within_s=1)
        assert first.is_error
        assert "outcome is unknown" in first.content
        assert _starts(tmp_path / "near.log") == 1
        assert (await call(manager, "echo", within_s=3)).is_error
    assert _starts(tmp_path / "near.log") == 2


@pytest.mark.req("MCP-38")
async def test_d6_after_a_close_no_child_is_left(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with mounted(replay_stdio("d6_children", tmp_path)) as manager:
            assert tool_of(manager, "echo").server
    pids = {line.get("child", line["pid"]) for line in read_log(tmp_path / "near.log")}
    assert len(pids) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


async def test_d5_a_dial_that_fails_leaves_nothing_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(McpFault):
            async with dialled(replay_stdio("d5_exits", tmp_path)):
                pytest.fail("it connected")
    assert len(os.listdir("/proc/self/fd")) <= before + 1
