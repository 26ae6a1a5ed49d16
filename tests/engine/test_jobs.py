"""Jobs over commands that end when the test says so: races, and what is kept how long."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import anyio
import pytest

import hilt.engine.jobs
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.job import ENDED_MAX, KEPT_S, STARTED, lost, lost_notice
from hilt.core.session import AssistantMessage, Message, ToolMessage, UserMessage
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.conversation import Conversation
from hilt.engine.jobs import SessionJobs
from hilt.ports.runner import CommandResult
from hilt.testing import ManualClock


@dataclass
class Command:
    """A command that ends when `over` is set; `deaf` lets it end by itself although it is cancelled."""

    over: anyio.Event = field(default_factory=anyio.Event)
    deaf: bool = False
    result: CommandResult | None = field(default_factory=lambda: CommandResult(exit_code=0, stdout=b"all"))

    def so_far(self) -> CommandResult:
        """See `StartedCommand`."""
        return CommandResult(exit_code=None, stdout=b"some")

    async def finish(self) -> CommandResult:
        """See `StartedCommand`."""
        with anyio.CancelScope(shield=self.deaf):
            await self.over.wait()
        if self.result is None:
            raise OSError("broken")
        return self.result


class House:
    """Jobs of one session, with the commands they started and the notices of their ends."""

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self.clock = ManualClock()
        self.commands: list[Command] = []
        self.next = Command()
        self.hold: anyio.Event | None = None
        self.starting = anyio.Event()
        self.conversation = Conversation()
        self.jobs = SessionJobs(self, tasks=tasks, clock=self.clock)
        self.jobs.bind(self.conversation)

    async def start(self, command: str, *, timeout_s: float, working_dir: str = "") -> Command:
        """See `CommandStarter`."""
        self.starting.set()
        if self.hold is not None:
            await self.hold.wait()
        self.commands.append(self.next)
        self.next = Command()
        return self.commands[-1]

    async def ended(self) -> str:
        """Start a job, let it end, and return its id."""
        job = await self.jobs.start("x", timeout_s=1)
        self.commands[-1].over.set()
        await self.jobs.report(job.id, wait_s=5)
        return job.id


@pytest.fixture
async def home() -> AsyncIterator[House]:
    async with anyio.create_task_group() as tasks:
        home = House(tasks)
        yield home
        await home.jobs.close()


@pytest.mark.req("BLT-41")
async def test_an_end_of_its_own_during_a_cancel_changes_nothing(home: House) -> None:
    home.next = Command(deaf=True)
    job = await home.jobs.start("x", timeout_s=1)
    async with anyio.create_task_group() as group:
        group.start_soon(home.jobs.cancel, job.id)
        await anyio.wait_all_tasks_blocked()
        assert (await home.jobs.report(job.id)).job.status == "cancelled"
        home.commands[0].over.set()
    report = await home.jobs.report(job.id)
    assert (report.job.status, report.job.exit_code, report.output.stdout) == ("cancelled", None, b"all")
    assert len(home.conversation.notices) == 1


async def test_a_command_whose_watch_breaks_has_failed(home: House, caplog: pytest.LogCaptureFixture) -> None:
    home.next = Command(result=None)
    id_ = await home.ended()
    report = await home.jobs.report(id_)
    assert (report.job.status, report.job.exit_code, report.output.stdout) == ("failed", None, b"some")
    assert "job_failed" in caplog.text


@pytest.mark.req("BLT-44")
async def test_the_last_hundred_that_ended_stay_listed_and_all_that_run(home: House) -> None:
    running = await home.jobs.start("x", timeout_s=1)
    ids = []
    for _ in range(ENDED_MAX + 3):
        home.clock.advance(1)
        ids.append(await home.ended())
    home.clock.advance(KEPT_S * 2)
    assert [job.id for job in home.jobs.jobs()] == [running.id, *ids[3:]]
    with pytest.raises(ToolError, match="Job not found"):
        await home.jobs.report(ids[0])


@pytest.mark.req("BLT-44")
async def test_large_outputs_go_first_when_they_are_old(home: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hilt.engine.jobs, "OUTPUTS_MAX_BYTES", 4)
    ids = [await home.ended() for _ in range(3)]
    home.clock.advance(KEPT_S)
    assert [job.id for job in home.jobs.jobs()] == ids
    home.clock.advance(1)
    assert [job.id for job in home.jobs.jobs()] == ids[2:]


@pytest.mark.req("BLT-44")
async def test_a_job_that_starts_while_the_session_closes_is_ended(home: House) -> None:
    home.hold = anyio.Event()
    errors: list[ToolError] = []

    async def start() -> None:
        with pytest.raises(ToolError) as caught:
            await home.jobs.start("x", timeout_s=1)
        errors.append(caught.value)

    async with anyio.create_task_group() as group:
        group.start_soon(start)
        await home.starting.wait()
        await home.jobs.close()
        home.hold.set()
    with pytest.raises(ToolError):
        await home.jobs.start("x", timeout_s=1)
    assert [error.code for error in errors] == [ErrorCode.TOOL_UNAVAILABLE]
    assert [job.status for job in home.jobs.jobs()] == ["cancelled"]
    assert home.conversation.notices == []


def test_only_results_of_a_start_tell_of_jobs() -> None:
    texts = [
        json.dumps({"job_id": "a", "status": "running", "message": f"{STARTED} for at most 5 s."}),
        json.dumps({"job_id": "b", "status": "cancelled"}),
        json.dumps({"stdout": f'{{"job_id": "c", "message": "{STARTED}"}}'}),
        json.dumps([STARTED]),
        f"{STARTED} no JSON",
        json.dumps({"job_id": 7, "message": STARTED}),
    ]
    results = tuple(ToolResult(str(number), text) for number, text in enumerate(texts))
    shell = [ToolCall(str(number), "shell") for number in range(len(texts))]
    forged = ToolResult("other", texts[0].replace('"a"', '"d"'))
    messages: list[Message] = [
        AssistantMessage(text="a", calls=(*shell, ToolCall("other", "Look"))),
        ToolMessage(results=(*results, forged)),
    ]
    assert lost(messages) == ["a"]
    assert lost([*messages, UserMessage(text=lost_notice("a"), notice=True)]) == []


async def test_durations_grow_while_it_runs(home: House) -> None:
    job = await home.jobs.start("x", timeout_s=1)
    home.clock.advance(2)
    assert [each.duration_s for each in home.jobs.jobs()] == [2]
    home.commands[0].over.set()
    assert (await home.jobs.report(job.id, wait_s=5)).job.duration_s == 2
    home.clock.advance(2)
    assert [each.duration_s for each in home.jobs.jobs()] == [2]
