"""Kind h, case 6: a job that was cancelled says so, whoever asks and how often."""

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.adapters.marked import Mark
from tests.builtins.shell_job_runs import jobs


@pytest.fixture
def mark() -> Iterator[Mark]:
    mark = Mark()
    yield mark
    mark.kill()


@pytest.mark.req("BLT-40", "BLT-41", "BLT-42")
async def test_h6_a_cancelled_job_stays_cancelled_and_writes_no_more(tmp_path: Path, mark: Mark) -> None:
    ticks = tmp_path / "t.txt"
    async with jobs(tmp_path, mark) as run:
        id_ = await run.start("for i in $(seq 60); do echo t$i >> t.txt; sleep 0.1; done")
        while not ticks.exists():
            await anyio.sleep(0.01)
        assert await run.one("shell_job_cancel", job_id=id_) == {"job_id": id_, "status": "cancelled"}
        assert mark.alive() == []
        size = os.path.getsize(ticks)
        status = await run.one("shell_job_status", job_id=id_)
        assert (status["status"], status["exit_code"]) == ("cancelled", None)
        again = await run.one("shell_job_cancel", job_id=id_)
        assert again["data"] == {"job_id": id_, "status": "cancelled", "exit_code": None}
        assert (await run.one("shell_job_status", job_id=id_))["status"] == "cancelled"
        assert "Job not found: nope" in str((await run.one("shell_job_cancel", job_id="nope"))["message"])
        done = await run.start("exit 7")
        await run.ended(done)
        finished = await run.one("shell_job_cancel", job_id=done)
        assert finished["data"] == {"job_id": done, "status": "failed", "exit_code": 7}
        assert (await run.ended(done))["exit_code"] == 7
        assert os.path.getsize(ticks) == size
