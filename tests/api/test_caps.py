"""How many sessions there may be: engines of their own, open ones, and what an idle one gives way to."""

from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from hilt.app.config import Config
from hilt.app.settings import SessionSettings
from tests.api.kit import Api, kinds, served, until
from tests.flows.kit import allow, call
from tests.flows.session_kit import Held


def capped(**values: int) -> Config:
    return Config(sessions=SessionSettings(**values))  # type: ignore[arg-type]  # keys of the settings


@pytest.mark.req("SES-80", "SES-81")
async def test_engines_of_their_own_are_capped_and_closing_one_frees_its_place_at_once(tmp_path: Path) -> None:
    assert SessionSettings().max_own_engines == 1024
    async with served(tmp_path, config=capped(max_own_engines=2)) as api:
        own = [await api.create(profile="no-fs") for _ in range(2)]
        refused = await api.ask("POST", "/v1/sessions", {"profile": "no-fs"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "cap_reached")
        assert int(refused.headers["retry-after"]) >= 1
        await api.create()
        await api.ask("DELETE", f"/v1/sessions/{own[0]}")
        await api.create(profile="no-fs")
        assert (await api.refused("POST", "/v1/sessions", {"profile": "no-fs"}))[:2] == (429, "cap_reached")
        reopened = await api.refused("POST", f"/v1/sessions/{own[0]}/prompt", {"text": "go"})
        assert reopened[:2] == (429, "cap_reached")
        await api.ask("POST", f"/v1/sessions/{own[1]}/delete")
        await api.create(profile="no-fs")


@pytest.mark.req("SES-81")
@pytest.mark.parametrize(
    "wrong",
    [
        {"profile": "no-fs", "limits": {"max_turns": 10**9}},
        {"profile": "no-fs", "categories": ["shell"]},
        {"profile": "no-fs", "id": "taken"},
        {"mcp_servers": [{"name": "gone", "url": "http://127.0.0.1:9/mcp"}]},
        {"model": "nonsense"},
    ],
)
async def test_a_session_that_failed_to_be_made_holds_no_place(tmp_path: Path, wrong: Mapping[str, object]) -> None:
    async with served(tmp_path, config=capped(max_own_engines=1, max_open=2)) as api:
        await api.create(id="taken")
        for _ in range(3):
            assert (await api.ask("POST", "/v1/sessions", wrong)).status_code in (400, 409, 503)
        places = api.app.sessions.places
        assert (places.open, places.own_engines) == (1, 0)
        await api.create(profile="no-fs")


@pytest.mark.req("SES-82")
async def test_the_oldest_idle_session_is_closed_before_one_is_refused(tmp_path: Path) -> None:
    assert SessionSettings().max_open == 10_000
    async with served(tmp_path, {"text": "again"}, {"text": "again"}, config=capped(max_open=2)) as api:
        first, second = await api.create(), await api.create()
        third = await api.create()
        assert await _states(api, first, second, third) == ["closed", "idle", "idle"]
        assert kinds(await api.run(first))[-1] == "result"
        assert await _states(api, first, second, third) == ["idle", "closed", "idle"]
        assert len(api.app.sessions.open_sessions) == 2


@pytest.mark.req("SES-82")
async def test_sessions_that_work_are_not_closed_for_others(tmp_path: Path) -> None:
    held = Held()
    answers = [{"calls": [call("Hold")]}, {"text": "done"}]
    options: dict[str, object] = {"tools": [held.tool()], "rules": allow("Hold"), "config": capped(max_open=1)}
    async with served(tmp_path, *answers, **options) as api:
        id_ = await api.create()
        async with api.stream("POST", f"/v1/sessions/{id_}/prompt", {"text": "go"}) as frames:
            await until(frames, "tool.start")
            assert (await api.refused("POST", "/v1/sessions", {}))[:2] == (429, "cap_reached")
            held.go.set()
            assert (await until(frames, "result"))[-1].data["stop_reason"] == "end_turn"
        await api.create()
        assert await _states(api, id_) == ["closed"]


@pytest.mark.req("SES-82")
async def test_many_at_once_never_open_more_than_there_are_places(tmp_path: Path) -> None:
    async with served(tmp_path, config=capped(max_open=3)) as api:
        made: list[int] = []

        async def create() -> None:
            made.append((await api.ask("POST", "/v1/sessions", {})).status_code)
            assert api.app.sessions.places.open <= 3

        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(create)
        assert set(made) <= {201, 429}
        assert 201 in made
        assert sum(not session.ended for session in api.app.sessions.open_sessions) <= 3


async def _states(api: Api, *ids: str) -> list[object]:
    return [(await api.get(f"/v1/sessions/{id_}"))["state"] for id_ in ids]
