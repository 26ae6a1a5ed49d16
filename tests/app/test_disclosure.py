"""Sessions over many tools: what is listed, what stays still, what a search hydrates, what survives."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

import hilt
from bench.search_sets import load_tools
from hilt.adapters.inmemory.clock import FixedClock
from hilt.adapters.inmemory.store import MemoryStore
from hilt.core.errors import ConfigError
from hilt.core.event import Event, ToolSettled, TurnEnd
from hilt.core.session import ToolFilter
from hilt.ports.model import ModelRequest
from hilt.testing import ScriptedModel
from tests.app.many_tools import SCHEMA, Plain, Remote, catalog_of, home, prefixes, remotes, select, use


@pytest.mark.req("SRC-01", "SRC-03", "SRC-06")
async def test_a_small_catalog_is_listed_in_full_without_tool_search(tmp_path: Path) -> None:
    async with home(tmp_path, catalog_of(remotes(20), Plain("Count"))) as place:
        await place.turns(await place.app.sessions.create(), use("Count"))
        assert len(place.listed()) == 21
        assert "ToolSearch" not in place.listed()
        assert all("more to say" in text or "zebra" in text or "Counts." in text for text in place.lists[0])


@pytest.mark.req("SRC-03")
async def test_with_disclosure_off_everything_is_listed_in_full(tmp_path: Path) -> None:
    async with home(tmp_path, catalog_of(remotes(900)), mode="off", window=1_000) as place:
        session = await place.app.sessions.create()
        assert len(session.specs()) == 900
        assert "ToolSearch" not in {spec.name for spec in session.specs()}


@pytest.mark.req("SRC-01", "SRC-02", "SRC-04", "SRC-09", "SRC-10")
async def test_a_light_list_keeps_its_bytes_while_tools_are_hydrated_and_called(tmp_path: Path) -> None:
    catalog = catalog_of(remotes(300), Plain("Count"))
    async with home(tmp_path, catalog, window=200_000) as place:
        session = await place.app.sessions.create()
        found, called = await place.turns(session, select("count_zebras"), use("mcp__zoo__count_zebras"))
        assert session.record.disclosure == "light"
        [entry] = json.loads(found.content)
        assert (entry["state"], entry["schema"]) == ("loaded", SCHEMA)
        assert called.content == "done"
        assert len(place.lists[0]) == 302
        assert place.lists[0] == place.lists[1] == place.lists[2]
        light = next(spec for spec in place.model.requests[0].tools if spec.name == "mcp__zoo__count_zebras")
        assert (light.description, light.schema_json) == ("Counts striped animals.", '{"type":"object"}')
        full = next(spec for spec in place.model.requests[0].tools if spec.name == "Count")
        assert full.schema == SCHEMA
        assert place.notices() == []


@pytest.mark.req("SRC-07", "SRC-09", "SRC-10")
async def test_among_very_many_tools_those_that_were_found_are_added_at_the_end_of_the_list(tmp_path: Path) -> None:
    catalog = catalog_of(remotes(500), Plain("Count"))
    async with home(tmp_path, catalog, profile="generic") as place:
        session = await place.app.sessions.create()
        zebras = {"name": "ToolSearch", "args": {"query": "striped animals"}}
        await place.turns(session, zebras, use("mcp__zoo__count_zebras"), select("mcp__srv9__tool_009", "tool_001"))
        assert session.record.disclosure == "search"
        assert place.listed(0) == ["Count", "ToolSearch"]
        assert place.listed(1) == place.listed(2) == ["Count", "ToolSearch", "mcp__zoo__count_zebras"]
        assert place.listed(3)[3:] == ["mcp__srv1__tool_001", "mcp__srv9__tool_009"]
        assert prefixes(place.lists)
        told = place.model.requests[0].tools[1].description
        assert "srv0 (50), srv1 (50)" in told
        assert "zoo (1)" in told
        assert place.notices() == []


@pytest.mark.req("SRC-05")
@pytest.mark.parametrize("profile", ["anthropic", "generic"])
async def test_a_tool_may_be_called_before_it_is_hydrated_and_a_wrong_argument_hydrates_it(
    tmp_path: Path, profile: str
) -> None:
    catalog = catalog_of(remotes(300))
    async with home(tmp_path, catalog, window=200_000, profile=profile) as place:
        session = await place.app.sessions.create()
        fine, wrong, again = await place.turns(
            session,
            use("mcp__srv1__tool_001"),
            use("mcp__srv2__tool_002", path=[1]),
            use("mcp__srv2__tool_002", path=[2]),
        )
        assert (fine.is_error, fine.content) == (False, "done")
        assert json.loads(wrong.content)["data"]["schema"] == SCHEMA
        assert "schema" not in (json.loads(again.content).get("data") or {})
        assert session.record.hydrated == ("mcp__srv2__tool_002",)
        assert prefixes(place.lists)


@pytest.mark.req("SRC-08", "SRC-11", "SRC-12", "SRC-50")
@pytest.mark.parametrize(("profile", "tier"), [("anthropic", "light"), ("generic", "search")])
async def test_hydration_and_the_choice_survive_a_restart_and_belong_to_one_session(
    tmp_path: Path, profile: str, tier: str
) -> None:
    store = MemoryStore(clock=FixedClock())
    tools = remotes(300)
    async with home(tmp_path, catalog_of(tools), window=200_000, profile=profile, store=store) as place:
        session = await place.app.sessions.create(id="one")
        await place.turns(session, select("count_zebras"))
        other = await place.app.sessions.create(id="two")
        assert "Use it in the zoo" not in "".join(spec.to_json() for spec in other.specs())
    async with home(tmp_path, catalog_of(tools), mode="off", profile=profile, store=store) as place:
        session = await place.app.sessions.open("one")
        await place.turns(session)
        assert session.record.disclosure == tier
        full = [spec for spec in place.model.requests[-1].tools if spec.name == "mcp__zoo__count_zebras"]
        assert [spec.schema for spec in full] == [SCHEMA]
        assert place.listed() == sorted(place.listed())
        assert place.notices() == ["The tool list was made anew: the session was resumed."]
        await place.turns(session)
        assert len(place.notices()) == 1


@pytest.mark.req("SRC-11", "SRC-50")
async def test_a_compaction_lists_hydrated_tools_in_full_from_then_on(tmp_path: Path) -> None:
    def long(request: ModelRequest) -> Mapping[str, object]:
        return {"text": "x" * 30_000, "calls": [use("mcp__srv1__tool_001", path=str(request.turn))]}

    async with home(tmp_path, catalog_of(remotes(100)), mode="on", window=40_000) as place:
        session = await place.app.sessions.create()
        place.model.add({"calls": [select("count_zebras")]}, *[long] * 5, {"text": "a summary"}, {"text": "done"})
        async for _ in session.prompt("go"):
            pass
        assert place.notices() == ["The tool list was made anew: the conversation was compacted."]
        [zebras] = [spec for spec in place.model.requests[-1].tools if spec.name == "mcp__zoo__count_zebras"]
        assert zebras.schema == SCHEMA


@pytest.mark.req("SRC-09", "SRC-50", "SRC-29")
async def test_a_change_of_mode_makes_the_list_anew_and_is_told(tmp_path: Path) -> None:
    tools = [*remotes(100), Remote("mcp__srv0__write", "Writes.", read_only=False)]
    async with home(tmp_path, catalog_of(tools), mode="on") as place:
        session = await place.app.sessions.create()
        await place.turns(session)
        await session.set(mode="plan")
        await place.turns(session)
        assert "mcp__srv0__write" in place.listed(0)
        assert "mcp__srv0__write" not in place.listed(1)
        await session.set(tools=ToolFilter(deny=("mcp__srv1__*",)))
        await place.turns(session)
        assert place.notices() == [
            "The tool list was made anew: the mode changed.",
            "The tool list was made anew: the tool filter changed.",
        ]


@pytest.mark.req("SRC-08", "SRC-09", "SRC-32")
@pytest.mark.parametrize(("profile", "last"), [("anthropic", ["mcp__late__a", "mcp__late__b"]), ("generic", [])])
async def test_late_tools_only_append_and_are_found(tmp_path: Path, profile: str, last: list[str]) -> None:
    catalog = catalog_of(remotes(127))
    async with home(tmp_path, catalog, mode="on", profile=profile) as place:
        session = await place.app.sessions.create()
        await place.turns(session)
        catalog.register_family("mcp", [Remote("mcp__late__b", "Sings."), Remote("mcp__late__a", "Dances.")])
        [found] = await place.turns(session, {"name": "ToolSearch", "args": {"query": "sing"}})
        assert json.loads(found.content)[0]["name"] == "mcp__late__b"
        assert place.listed(1)[128:] == last
        assert prefixes(place.lists)


@pytest.mark.req("SRC-09")
async def test_a_tool_that_is_taken_out_of_the_listing_makes_it_anew(tmp_path: Path) -> None:
    catalog = catalog_of(remotes(50))
    async with home(tmp_path, catalog, mode="on") as place:
        session = await place.app.sessions.create()
        await place.turns(session)
        catalog.withdraw("mcp__zoo__count_zebras", "closed")
        await place.turns(session)
        assert "mcp__zoo__count_zebras" not in place.listed()
        assert place.notices() == ["The tool list was made anew: a tool was withdrawn."]


@pytest.mark.req("SRC-13")
async def test_the_order_in_which_servers_answered_leaves_no_trace_in_the_list(tmp_path: Path) -> None:
    tools = remotes(200)
    lists = []
    for arrival in (tools, tools[::-1]):
        async with home(tmp_path, catalog_of(arrival), mode="on") as place:
            session = await place.app.sessions.create()
            await place.turns(session, select("count_zebras"))
            lists.append(place.lists)
    assert lists[0] == lists[1]


@pytest.mark.req("SRC-14", "SRC-28")
async def test_a_tool_that_is_not_listed_is_decided_and_recorded_like_any_other(tmp_path: Path) -> None:
    tools = remotes(500)
    async with home(tmp_path, catalog_of(tools), profile="generic", rules=[hilt.deny("mcp__zoo__*")]) as place:
        session = await place.app.sessions.create()
        found, refused, ran = await place.turns(
            session, select("count_zebras"), use("mcp__zoo__count_zebras"), use("mcp__srv1__tool_001")
        )
        assert json.loads(found.content)[0]["state"] == "blocked"
        assert json.loads(refused.content)["error"] == "access_denied"
        assert ran.content == "done"
        assert tools[-1].calls == 0
        ended = [event.body.tool for event in place.events if isinstance(event.body, ToolSettled)]
        assert ended == ["ToolSearch", "mcp__zoo__count_zebras", "mcp__srv1__tool_001"]


@pytest.mark.req("PRV-27")
async def test_more_tools_than_the_provider_takes_even_so_fail_the_creation(tmp_path: Path) -> None:
    catalog = catalog_of([], *(Plain(f"Tool{n}") for n in range(200)))
    async with home(tmp_path, catalog, profile="openai") as place:
        with pytest.raises(ConfigError, match=r"201 tools .* takes 128"):
            await place.app.sessions.create()


def real_tools() -> list[Remote]:
    tools = []
    for item in load_tools("steps"):
        with suppress(ConfigError):  # one has a schema of an old draft, which is not repaired here
            tools.append(Remote(f"mcp__{item.server}__{item.name}", item.description, schema=item.schema))
    assert len(tools) > 500
    return tools


@pytest.mark.req("SRC-46", "SRC-47", "SRC-48")
@pytest.mark.parametrize(("profile", "share"), [("anthropic", 0.25), ("generic", 0.03)])
async def test_527_real_tools_cost_a_small_part_of_their_definitions(
    tmp_path: Path, profile: str, share: float
) -> None:
    async with home(tmp_path, catalog_of(real_tools()), window=1_000_000, mode="on", profile=profile) as place:
        session = await place.app.sessions.create()
        [found] = await place.turns(session, {"name": "ToolSearch", "args": {"query": "geocode an address"}})
        tokens = [event.body.tokens for event in place.events if isinstance(event.body, TurnEnd)]
        first, last = tokens
        assert first is not None
        assert last is not None
        assert first.counter == "bytes/4"
        assert first.full > 50_000
        assert first.listed < share * first.full
        assert first.results == len(found.content.encode()) // 4
        assert 0 < first.hydrated < 3_000
        cost = first.listed + len(found.content.encode()) // 4
        assert first.saved == pytest.approx(first.full - cost, abs=50)
        assert last.results == 0
        stored = await place.app.store.events.read(session.record.id)
        assert any(isinstance(event.get("tokens"), dict) for event in stored)


@pytest.mark.req("SRC-48")
async def test_what_disclosure_saves_may_be_negative(tmp_path: Path) -> None:
    async with home(tmp_path, catalog_of(remotes(2)), mode="on") as place:
        await place.turns(await place.app.sessions.create(), select("count_zebras"))
        [first, _] = [event.body.tokens for event in place.events if isinstance(event.body, TurnEnd)]
        assert first is not None
        assert first.saved < 0


class Counting(ScriptedModel):
    """A model with a counter of its own."""

    def count_tokens(self, text: str) -> int:
        return len(text.split())


@pytest.mark.req("SRC-46")
async def test_a_providers_counter_comes_before_the_estimate(tmp_path: Path) -> None:
    model = Counting([{"calls": [{"name": "Count", "args": {"path": "x"}}]}, {"text": "done"}])
    events: list[Event] = []
    catalog = catalog_of([], Plain("Count"))
    async with hilt.build(
        workspace=tmp_path, model=model, session_catalog=lambda context: catalog, on_event=events.append
    ) as app:
        async for _ in (await app.sessions.create()).prompt("go"):
            pass
    [first, _] = [event.body.tokens for event in events if isinstance(event.body, TurnEnd)]
    assert first is not None
    assert (first.counter, first.results) == ("provider", 1)


@pytest.mark.req("PRV-29")
async def test_a_tool_that_the_provider_refuses_is_withheld_and_the_request_sent_once_more(tmp_path: Path) -> None:
    async with home(tmp_path, catalog_of(remotes(3))) as place:
        session = await place.app.sessions.create()
        refusal = {"error": {"status": 400, "message": "Invalid schema for function 'mcp__srv1__tool_001'"}}
        place.model.add(refusal, {"text": "done"}, refusal)
        async for _ in session.prompt("go"):
            pass
        assert len(place.listed(0)) == 3
        assert place.listed(1) == ["mcp__srv0__tool_000", "mcp__zoo__count_zebras"]
        assert "the provider refused a tool" in place.notices()[0]
        run = session.prompt("again")
        async for _ in run:
            pass
        result = await run.finished()
        assert result is not None
        assert "Invalid schema" in result.error
