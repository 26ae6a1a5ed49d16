"""Background jobs of the shell: their tools' rows, their states, what the model is told, and that nothing is left."""

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hilt.adapters.runner_process import ProcessRunner
from hilt.app.config import Config
from hilt.app.settings import ShellPolicy as PolicySettings
from hilt.app.settings import ShellSettings
from hilt.builtins.shell import ShellPolicy, shell_tools
from hilt.core.errors import ToolError
from hilt.ports.tool import Tool
from tests.adapters.marked import NAME, Mark
from tests.app.house import names
from tests.builtins.shell_job_runs import Jobs, jobs
from tests.flows.kit import call

TOOLS = {tool.spec.name: tool for tool in shell_tools(policy=ShellPolicy())}
ROWS: dict[str, dict[str, object]] = {
    "shell_jobs": {},
    "shell_job_status": {
        "job_id": {"type": "string"},
        "wait_secs": {"type": "integer", "default": 0, "minimum": 0, "maximum": 120},
    },
    "shell_job_cancel": {"job_id": {"type": "string"}},
}
STATUS_KEYS = [
    *("id", "command", "working_dir", "timeout_secs", "started_at_unix"),
    *("status", "exit_code", "stdout", "stderr", "duration_secs"),
]
GRANDCHILDREN = (
    "bash -c 'bash -c \"trap true TERM; while true; do sleep 1; done\" & setsid sleep 300 & sleep 300' & "
    "echo ready; sleep 300"
)
FIVE = 5


@pytest.fixture
def mark() -> Iterator[Mark]:
    mark = Mark()
    yield mark
    mark.kill()


@pytest.mark.req("BLT-07", "BLT-08")
@pytest.mark.parametrize("name", ROWS)
def test_a_tool_is_its_row(name: str) -> None:
    tool = TOOLS[name]
    assert isinstance(tool, Tool)
    assert tool.read_only is (name != "shell_job_cancel")
    schema = dict(tool.spec.schema)
    properties = schema.pop("properties")
    assert isinstance(properties, dict)
    assert all(node.pop("description") for node in properties.values())
    assert properties == ROWS[name]
    required = {"required": ["job_id"]} if ROWS[name] else {}
    assert schema == {"type": "object", "additionalProperties": False, **required}


@pytest.mark.parametrize("name", TOOLS)
def test_a_description_says_when_to_use_it_and_when_not(name: str) -> None:
    text = TOOLS[name].spec.description
    assert len(text) >= 100
    assert "Use " in text
    assert "Do not use " in text


@pytest.mark.req("BLT-09", "BLT-39", "BLT-40")
async def test_a_job_is_known_to_the_three_tools(tmp_path: Path, mark: Mark) -> None:
    (tmp_path / "sub").mkdir()
    async with jobs(tmp_path, mark) as run:
        assert set(names(run.session)) >= set(TOOLS)
        command = "echo one; echo two >&2; until [ -e go ]; do sleep 0.05; done; echo three"
        id_ = await run.start(command, working_dir="sub")
        (listed,) = await run.rows()
        assert set(listed) == {"id", "command", "status", "started_at_unix"}
        assert (listed["id"], listed["command"], listed["status"]) == (id_, command, "running")
        status = await run.one("shell_job_status", job_id=id_)
        while not (status["stdout"] and status["stderr"]):
            status = await run.one("shell_job_status", job_id=id_)
        assert list(status) == STATUS_KEYS
        assert (status["stdout"], status["stderr"], status["exit_code"]) == ("one\n", "two\n", None)
        assert (status["status"], status["working_dir"], status["timeout_secs"]) == ("running", "sub", 3600)
        (tmp_path / "sub" / "go").touch()
        status = await run.ended(id_)
        assert (status["status"], status["exit_code"], status["stdout"]) == (
            "completed",
            0,
            "one\ntwo\n"[:4] + "three\n",
        )
        cancelled = await run.one("shell_job_cancel", job_id=id_)
        assert cancelled == {
            "error": "execution_failed",
            "message": "Tool execution failed: Job is not running",
            "data": {"job_id": id_, "status": "completed", "exit_code": 0},
        }


@pytest.mark.req("BLT-40", "BLT-42")
async def test_each_end_has_its_status(tmp_path: Path, mark: Mark) -> None:
    async with jobs(tmp_path, mark) as run:
        ids = [await run.start(command) for command in ("true", "exit 3", "kill -9 $$", "sleep 300")]
        late = await run.start("echo some; sleep 300", timeout_secs=1)
        assert await run.one("shell_job_cancel", job_id=ids[3]) == {"job_id": ids[3], "status": "cancelled"}
        ends = [await run.ended(id_) for id_ in (*ids, late)]
        assert [(end["status"], end["exit_code"]) for end in ends] == [
            ("completed", 0),
            ("failed", 3),
            ("failed", None),
            ("cancelled", None),
            ("timed_out", None),
        ]
        assert (ends[4]["stdout"], ends[4]["timeout_secs"]) == ("some\n", 1)
        for name in ("shell_job_status", "shell_job_cancel"):
            body = await run.one(name, job_id="nope")
            assert body == {"error": "execution_failed", "message": "Tool execution failed: Job not found: nope"}


@pytest.mark.req("BLT-41")
async def test_cancel_ends_the_whole_group(tmp_path: Path, mark: Mark) -> None:
    async with jobs(tmp_path, mark) as run:
        id_ = await run.start(GRANDCHILDREN)
        await mark.reach(FIVE)
        assert (await run.one("shell_job_cancel", job_id=id_))["status"] == "cancelled"
        assert mark.alive() == []
        status = await run.ended(id_)
        assert (status["status"], status["stdout"]) == ("cancelled", "ready\n")


@pytest.mark.req("BLT-43")
async def test_each_end_is_told_once_at_the_next_turn(tmp_path: Path, mark: Mark) -> None:
    async with jobs(tmp_path, mark) as run:
        good, bad = await run.start("true"), await run.start("exit 3")
        await run.ended(good)
        await run.ended(bad)
        assert await run.one("shell_job_status", job_id=good)
        told = "\n\n".join(run.notices)
        assert f"The background job {good} (true) has ended: completed, exit code 0, after " in told
        assert f"The background job {bad} (exit 3) has ended: failed, exit code 3, after " in told
        assert (told.count(good), told.count(bad)) == (1, 1)
        await run.one("shell_jobs")
        assert "\n\n".join(run.notices) == told


@pytest.mark.req("BLT-44")
async def test_closing_the_session_ends_its_jobs_and_those_of_no_other(tmp_path: Path, mark: Mark) -> None:
    async with jobs(tmp_path, mark) as run:
        other = Jobs(run.home, await run.home.app.sessions.create())
        kept = await other.start("exec sleep 300")
        await mark.reach(2)
        before = set(mark.alive())
        id_ = await run.start(GRANDCHILDREN)
        assert (await other.one("shell_job_status", job_id=id_))["message"] == (
            f"Tool execution failed: Job not found: {id_}"
        )
        await mark.reach(len(before) + FIVE)
        await run.session.close()
        assert set(mark.alive()) == before
        assert (await other.one("shell_job_status", job_id=kept))["status"] == "running"
    assert mark.alive() == []


async def test_a_job_that_a_restart_ended_is_told_once_as_lost(tmp_path: Path, mark: Mark) -> None:
    store = f"jsonl:{tmp_path / 'store'}"
    async with jobs(tmp_path, mark, store=store) as run:
        done, left = await run.start("true"), await run.start("exec sleep 300")
        await run.ended(done)
        await run.rows()
    assert mark.alive() == []
    for _ in range(2):
        async with jobs(tmp_path, mark, store=store) as again:
            again.session = await again.home.app.sessions.open(run.session.id)
            assert await again.rows() == []
            told = "\n\n".join(again.notices)
            assert told.count(f"The background job {left} was lost") == 1
            assert (told.count(left), told.count(done)) == (1, 1)


@pytest.mark.req("BLT-44")
async def test_the_end_of_the_application_ends_all_jobs(tmp_path: Path, mark: Mark) -> None:
    async with jobs(tmp_path, mark) as run:
        await run.start(GRANDCHILDREN)
        await mark.reach(FIVE)
    assert mark.alive() == []


async def test_an_application_that_is_cancelled_leaves_no_job(tmp_path: Path, mark: Mark) -> None:
    with anyio.CancelScope() as scope:
        async with jobs(tmp_path, mark) as run:
            await run.start(GRANDCHILDREN)
            await mark.reach(FIVE)
            scope.cancel()
            await anyio.sleep_forever()
    assert mark.alive() == []


@pytest.mark.req("BLT-38")
async def test_jobs_and_commands_share_the_places_for_processes(tmp_path: Path, mark: Mark) -> None:
    config = Config(environment={**os.environ, NAME: mark.value}, shell=ShellSettings(max_processes=2))
    async with jobs(tmp_path, mark, config=config) as run:
        first, _ = await run.start("sleep 300"), await run.start("sleep 300")
        for background in (True, False):
            body = await run.one("shell", command="true", background=background)
            assert body["message"] == ("Tool execution failed: Concurrency limit exceeded: 2 processes, limit is 2")
        await run.one("shell_job_cancel", job_id=first)
        assert (await run.one("shell", command="true"))["exit_code"] == 0


@pytest.mark.req("BLT-45")
async def test_the_policy_holds_for_jobs(tmp_path: Path, mark: Mark) -> None:
    policy = PolicySettings(mode="deny_list", patterns=("rm *",))
    config = Config(environment={**os.environ, NAME: mark.value}, shell=ShellSettings(policy=policy))
    (tmp_path / "victim.txt").touch()
    async with jobs(tmp_path, mark, config=config) as run:
        body = await run.one("shell", command="true; rm victim.txt", background=True)
        assert body["error"] == "access_denied"
        assert await run.rows() == []
    assert (tmp_path / "victim.txt").exists()


async def test_a_job_that_cannot_start_is_an_error_and_no_job(tmp_path: Path, mark: Mark) -> None:
    async with jobs(tmp_path, mark) as run:
        for folder in ("missing", ".."):
            body = await run.one("shell", command="true", background=True, working_dir=folder)
            assert body["error"] in ("execution_failed", "access_denied")
        assert await run.rows() == []


async def test_a_shell_that_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    runner = ProcessRunner(tmp_path, program="/no/such/shell", environ={})
    with pytest.raises(ToolError, match="cannot start 'shell'"):
        await runner.start("true", timeout_s=1)


async def test_long_output_is_cut_and_stays_readable_once_the_job_has_ended(tmp_path: Path, mark: Mark) -> None:
    async with jobs(tmp_path, mark) as run:
        id_ = await run.start("head -c 60000 /dev/zero | tr '\\0' x; until [ -e go ]; do sleep 0.05; done")
        status = await run.one("shell_job_status", job_id=id_)
        while len(str(status["stdout"])) < 20_000:
            status = await run.one("shell_job_status", job_id=id_)
        assert "bytes left out ...]" in str(status["stdout"])
        (tmp_path / "go").touch()
        (result,) = await run.home.turn(run.session, call("shell_job_status", {"job_id": id_, "wait_secs": 30}))
        assert len(result.content.encode()) <= 25_000
        assert "of 60000 bytes left out; ReadResult(handle=" in result.content
