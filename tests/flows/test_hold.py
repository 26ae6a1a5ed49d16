"""A stored session belongs to one process at a time: no other recovers, runs or deletes it meanwhile."""

import subprocess
import sys
from pathlib import Path

import pytest

from hilt import build
from hilt.app.config import Config
from hilt.app.settings import SessionSettings
from hilt.app.stored import StoredSessions
from hilt.core.errors import SessionBusyError
from hilt.core.session import SessionState

HOLDER = """
import sys
import anyio
from hilt import build

async def main():
    async with build(store=sys.argv[1], workspace=sys.argv[2]) as app:
        session = await app.sessions.create(id="held")
        print("open", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)

anyio.run(main)
"""


@pytest.mark.req("SES-02", "SES-06")
async def test_another_process_cannot_open_or_delete_a_session_that_is_open(tmp_path: Path) -> None:
    store = f"jsonl:{tmp_path / 'store'}"
    argv = [sys.executable, "-c", HOLDER, store, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        async with build(store=store, workspace=tmp_path) as app:
            with pytest.raises(SessionBusyError, match="another process"):
                await app.sessions.open("held")
            with pytest.raises(SessionBusyError, match="another process"):
                await app.sessions.delete("held")
            with (
                StoredSessions(Config(sessions=SessionSettings(store=store))) as stored,
                pytest.raises(SessionBusyError),
            ):
                await stored.delete("held")
            assert (await app.sessions.show("held")).state is SessionState.IDLE
            other.stdin.write("\n")
            other.stdin.flush()
            other.wait(timeout=20)
            session = await app.sessions.open("held")
            assert session.state is SessionState.CLOSED


async def test_a_session_that_is_closed_is_given_back(tmp_path: Path) -> None:
    store = f"jsonl:{tmp_path / 'store'}"
    async with build(store=store, workspace=tmp_path) as one:
        session = await one.sessions.create()
        async with build(store=store, workspace=tmp_path) as two:
            with pytest.raises(SessionBusyError):
                await two.sessions.open(session.id)
            await session.close()
            await session.close()
            await two.sessions.open(session.id)


async def test_a_session_whose_creation_fails_is_held_by_nobody(tmp_path: Path) -> None:
    store = f"jsonl:{tmp_path / 'store'}"
    async with build(store=store, workspace=tmp_path) as app:
        with pytest.raises(Exception, match="max_turns"):
            await app.sessions.create(id="one", limits={"max_turns": 10**9})
        assert (await app.sessions.create(id="one")).id == "one"


async def test_a_closed_session_that_is_only_opened_is_given_back_too(tmp_path: Path) -> None:
    store = f"jsonl:{tmp_path / 'store'}"
    async with build(store=store, workspace=tmp_path) as app:
        await app.sessions.create(id="one")
    for _ in range(2):
        async with build(store=store, workspace=tmp_path) as app:
            session = await app.sessions.open("one")
            assert session.state is SessionState.CLOSED
            assert await app.sessions.open("one") is session
    async with build(store=store, workspace=tmp_path) as app:
        session = await app.sessions.open("one")
        await session.close()
        assert await app.sessions.open("one") is not session
