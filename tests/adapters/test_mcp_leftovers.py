import asyncio
import json
import os
from pathlib import Path

import anyio
import anyio.abc
import pytest

from tests.mcp_servers.kit import call, http_spec, mounted, replay_stdio
from tests.mcp_servers.raw_http import Received, http, raw_server, result, stream_head

ROUNDS = 60


def _state() -> tuple[int, int]:
    return len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd"))


@pytest.mark.req("MCP-71")
async def test_after_many_faults_as_much_is_open_as_after_a_few(tmp_path: Path) -> None:
    count = 0

    async def flaky(request: Received, stream: anyio.abc.SocketStream) -> None:
        nonlocal count
        count += 1
        match count % 5:
            case 0:
                await stream.send(http(b"", status="404 Not Found"))
            case 1:
                await stream.aclose()
            case 2:
                await stream.send(stream_head() + b": cut\n\n")
                await stream.aclose()
            case 3:
                await stream.send(http(b"<html>", kind="text/html"))
            case _:
                await stream.send(http(result(request, {"content": []})))

    (tmp_path / "dies.json").write_text(json.dumps({"on": {"tools/call": [{"exit": 1}]}}))
    async with raw_server(tools__call=flaky) as server:
        async with mounted(http_spec(server.url), replay_stdio("dies.json", tmp_path)) as manager:
            early = (0, 0)
            for at in range(ROUNDS):
                await call(manager, "t")
                if at % 10 == 0:
                    assert (await call(manager, "echo")).is_error
                if at == 10:
                    early = _state()
        with anyio.fail_after(10):
            while _state()[0] > early[0] or _state()[1] > early[1]:
                await anyio.sleep(0.05)
