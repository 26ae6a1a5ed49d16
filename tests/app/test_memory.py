"""Where an application remembers, and what stops its build."""

import json
import sqlite3
import stat
from pathlib import Path

import pytest

import hilt.app.memory
from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.inmemory.memory import HeldMemory
from hilt.adapters.inmemory.store import MemoryStore
from hilt.app.config import Config
from hilt.app.memory import workspace_stem
from hilt.app.settings import SessionSettings
from hilt.core.errors import ConfigError
from hilt.ports.memory import ProjectMemory, UserModel
from tests.app.house import House, house

NOTE = json.dumps({"key": "k", "value": "kept, say open sesame"})


async def write(home: House) -> None:
    session = await home.app.sessions.create()
    for tool in ("Remember", "RememberUser"):
        result = await session.call_tool(tool, NOTE)
        assert not result.is_error, result.content


def written(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.sqlite")}


@pytest.mark.req("BLT-77")
async def test_with_a_configuration_memories_lie_in_the_state_folder_of_the_user(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    stem = workspace_stem(str(work))
    state = Config(state_dir=str(tmp_path / "state"), environment={"MY_TOKEN": "open sesame"})
    stores = (f"jsonl:{tmp_path / 'elsewhere'}", MemoryStore(clock=FixedClock()))
    for store in stores:
        async with house(work, store=store, config=state, enable_memory=True) as home:
            await write(home)
    folder = tmp_path / "state" / "memory"
    assert written(tmp_path) == {f"state/memory/{stem}.sqlite", "state/memory/user-model.sqlite"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert list(work.iterdir()) == []
    with sqlite3.connect(folder / f"{stem}.sqlite") as database:
        ((history,),) = database.execute("SELECT history FROM entries").fetchall()
    database.close()
    assert [version["value"] for version in json.loads(history)] == ["kept, say [masked]"] * 2


async def test_without_one_they_lie_with_the_store(tmp_path: Path) -> None:
    async with house(tmp_path, store=f"jsonl:{tmp_path / 'store'}", enable_memory=True) as home:
        await write(home)
    assert written(tmp_path) == {
        f"store/memory/{workspace_stem(str(tmp_path))}.sqlite",
        "store/memory/user-model.sqlite",
    }


@pytest.mark.req("SES-12")
async def test_with_the_store_memory_they_lie_nowhere_unless_sessions_were_only_put_aside(tmp_path: Path) -> None:
    state = tmp_path / "state"
    for config in (None, Config(state_dir=str(state), sessions=SessionSettings(store="memory:"))):
        async with house(tmp_path, store="memory:", config=config, enable_memory=True) as home:
            await write(home)
    assert list(tmp_path.iterdir()) == []
    aside = Config(state_dir=str(state)).with_store("memory:")
    async with house(tmp_path, store=aside.sessions.store, config=aside, enable_memory=True) as home:
        await write(home)
    assert len(written(state)) == 2


def test_each_workspace_has_a_name_of_its_own() -> None:
    roots = ("/a/work", "/b/work", "/a/Work", "/", "/a/" + "x" * 300, "/a/é", "/a/..", "/a/\udcff")
    stems = [workspace_stem(root) for root in roots]
    assert len({stem.casefold() for stem in stems}) == len(roots)
    assert all(len(stem) <= 73 and stem.replace("-", "").replace("_", "").isalnum() for stem in stems)
    assert stems[0].startswith("work-")


async def test_the_host_may_bring_its_own(tmp_path: Path) -> None:
    clock = FixedClock()
    project, user = HeldMemory(clock=clock), HeldMemory(clock=clock)
    store = MemoryStore(clock=clock)
    services = {ProjectMemory: project, UserModel: user}
    async with house(tmp_path, store=store, services=services, enable_memory=True) as home:
        await write(home)
        bare = await home.app.sessions.create(profile="no-fs")
        assert "kept" in (await bare.call_tool("RecallUser", '{"key": "k"}')).content
    assert [len(await memory.history("k")) for memory in (project, user)] == [1, 1]
    with pytest.raises(ConfigError, match="no folder to remember in"):
        async with house(tmp_path, store=store, services={UserModel: user}, enable_memory=True):
            raise AssertionError
    async with house(
        tmp_path, store=f"jsonl:{tmp_path / 'store'}", services={UserModel: user}, enable_memory=True
    ) as home:
        await write(home)
    assert len(await user.history("k")) == 2
    assert written(tmp_path) == {f"store/memory/{workspace_stem(str(tmp_path))}.sqlite"}


@pytest.mark.req("BLT-06")
async def test_what_cannot_work_stops_the_build_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hilt.app.memory, "why_unusable", lambda: "there is no full-text search")
    store = f"jsonl:{tmp_path / 'store'}"
    with pytest.raises(ConfigError, match="'memory' cannot work: there is no full-text search") as caught:
        async with house(tmp_path, store=store, enable_memory=True):
            raise AssertionError
    assert caught.value.key == "tools.enable"
    async with house(tmp_path, enable_memory=True) as home:
        await write(home)


@pytest.mark.req("BLT-02")
async def test_a_session_may_do_without(tmp_path: Path) -> None:
    async with house(tmp_path, enable={"memory", "tasks"}) as home:
        session = await home.app.sessions.create(enable=["tasks"])
        assert "not allowed" in (await session.call_tool("Recall", '{"key": "k"}')).content
        assert not {spec.name for spec in session.specs()} & {"Recall", "memory_search", "RecallUser"}
