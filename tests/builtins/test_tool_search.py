"""ToolSearch finds tools by words or by name and gives their full specs."""

import json
from collections.abc import Mapping, Sequence

import pytest

from hilt.builtins.meta.tool_search import ToolSearch
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.permission import Effect
from hilt.core.rule_text import parse_rule
from hilt.core.rulebook import RuleBook
from hilt.core.session import Mode, ToolFilter
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.catalog import Catalog
from hilt.engine.catalog_index import CatalogIndex
from hilt.engine.conversation import Conversation
from hilt.engine.tool_index import SessionToolIndex
from hilt.engine.visibility import Visibility
from hilt.ports.search import ToolIndex
from hilt.ports.tool import Environment, Tool

SCHEMA: Mapping[str, object] = {"type": "object", "properties": {"path": {"type": "string"}}}


class Short:
    """A tool that is listed in short."""

    def __init__(self, name: str, text: str, *, read_only: bool, schema: Mapping[str, object]) -> None:
        self.spec = ToolSpec(name, text, schema)
        self.read_only = read_only

    def advertised(self) -> ToolSpec:
        return ToolSpec(self.spec.name, "Short.", {"type": "object"})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.text(call.id, "ok")


class Full:
    """A tool that is always listed in full."""

    def __init__(self, name: str, text: str) -> None:
        self.spec = ToolSpec(name, text, SCHEMA)
        self.read_only = True

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        return ToolResult.text(call.id, "ok")


class Place:
    """One session over a catalog, and ToolSearch in it."""

    def __init__(self, *deny: str, waiting: Mapping[str, str] | None = None, profile: str = "generic") -> None:
        self.catalog = Catalog()
        self.catalog.register(ToolSearch())
        self.catalog.register(Full("Read", "Reads a file."))
        rules = RuleBook([parse_rule(rule, effect=Effect.DENY) for rule in deny])
        self.state = Conversation()
        self.index = SessionToolIndex(
            self.catalog, CatalogIndex(self.catalog), rules=rules, profile=profile, waiting=lambda: waiting or {}
        )
        self.index.bind(self.state)

    def add(
        self, name: str, text: str = "", *, read_only: bool = True, schema: Mapping[str, object] = SCHEMA
    ) -> "Place":
        family = "mcp" if name.startswith("mcp__") else "core"
        self.catalog.register(Short(name, text, read_only=read_only, schema=schema), family=family)
        return self

    async def answer(self, **arguments: object) -> str:
        call = ToolCall("c1", "ToolSearch", arguments=arguments)
        result = await ToolSearch().execute(call, Environment(services={ToolIndex: self.index}))
        assert (result.call_id, result.is_error) == ("c1", False)
        assert len(result.content.encode()) < 25_000
        return result.content

    async def search(self, query: str | None = None, **arguments: object) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(await self.answer(query=query, **arguments))
        return found

    async def states(self, query: str, **arguments: object) -> list[tuple[object, object]]:
        return [(entry["name"], entry["state"]) for entry in await self.search(query, **arguments)]


def hub() -> Place:
    place = Place()
    place.add("mcp__git__log", "Show the history of commits.").add("mcp__hub__log", "Show the log of the hub.")
    return place.add("mcp__hub__Create_Issue", "Report a bug.", read_only=False).add("read", "Reads aloud.")


@pytest.mark.req("SRC-15")
async def test_it_is_a_read_only_tool_with_the_stated_arguments_and_never_in_its_own_results() -> None:
    tool: Tool = ToolSearch()
    assert tool.read_only is True
    properties = tool.spec.schema["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == {"query", "server", "limit"}
    limit = {key: properties["limit"].get(key) for key in ("default", "minimum", "maximum")}
    assert limit == {"default": 5, "minimum": 1, "maximum": 20}
    assert not tool.spec.schema.get("required")
    [entry] = await Place().search("select:ToolSearch")
    assert entry["state"] == "not_found"
    assert "ToolSearch" not in await Place().answer(query="find tools that are not listed")


@pytest.mark.req("SRC-16")
async def test_what_is_found_comes_with_its_full_spec_and_is_hydrated() -> None:
    place = hub()
    assert await place.search("commit history") == [
        {"name": "mcp__git__log", "description": "Show the history of commits.", "schema": SCHEMA, "state": "loaded"}
    ]
    assert place.state.hydrated == {"mcp__git__log"}
    assert await place.states("commit history") == [("mcp__git__log", "already_available")]


@pytest.mark.req("SRC-17", "SRC-27")
async def test_select_gives_exactly_these_in_the_order_asked() -> None:
    place = hub()
    assert await place.states(" select: mcp__hub__log , Read,mcp__git__log,,") == [
        ("mcp__hub__log", "loaded"),
        ("Read", "already_available"),
        ("mcp__git__log", "loaded"),
    ]
    assert place.state.hydrated == {"mcp__hub__log", "mcp__git__log"}
    again = await place.search("select:mcp__git__log")
    assert again == [{"name": "mcp__git__log", "state": "already_available"}]


@pytest.mark.req("SRC-17", "SRC-38")
@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Read", "Read"),
        ("read", "read"),
        ("Create_Issue", "mcp__hub__Create_Issue"),
        ("create_issue", "mcp__hub__Create_Issue"),
        ("MCP__hub__create_issue", "mcp__hub__Create_Issue"),
    ],
)
async def test_a_tool_is_named_by_catalog_name_or_own_name_and_case_counts_only_where_it_decides(
    asked: str, meant: str
) -> None:
    [entry] = await hub().search(f"select:{asked}")
    assert entry["name"] == meant


@pytest.mark.req("SRC-17")
async def test_a_name_that_does_not_fit_the_provider_is_shown_and_understood_as_it_is_sent() -> None:
    place = Place(profile="openai").add("mcp__files__read/all.now", "Reads.")
    [entry] = await place.search("reads all now", limit=1)
    sent = entry["name"]
    assert isinstance(sent, str)
    assert sent.startswith("mcp__files__read_all_now_")
    assert place.state.hydrated == {"mcp__files__read/all.now"}
    assert await place.states(f"select:{sent}") == [(sent, "already_available")]
    assert await place.states(sent, limit=1) == [(sent, "already_available")]


@pytest.mark.req("SRC-18")
@pytest.mark.parametrize("asked", ["log", "READ", "Raed"])
async def test_a_name_that_is_none_or_two_tools_is_said_with_the_nearest_and_the_others_are_given(asked: str) -> None:
    entry, other = await hub().search(f"select:{asked},mcp__git__log")
    assert (entry["name"], entry["state"]) == (asked, "not_found")
    nearest = entry["nearest"]
    assert isinstance(nearest, list)
    assert len(nearest) == 3
    assert nearest[0] in ("mcp__git__log", "mcp__hub__log", "Read", "read")
    assert other["state"] == "loaded"


@pytest.mark.req("SRC-25")
async def test_an_empty_query_lists_servers_and_families_with_their_number_of_tools() -> None:
    place = hub()
    listed = [
        {"server": "git", "tools": 1},
        {"server": "hub", "tools": 2},
        {"family": "core", "tools": 2},
    ]
    assert await place.search() == listed
    assert await place.search("  ") == listed
    assert await place.search(server="hub") == [{"server": "hub", "tools": 2}]
    assert place.state.hydrated == set()


@pytest.mark.req("SRC-26")
async def test_no_match_is_a_normal_answer_with_the_query_and_the_servers() -> None:
    text = await hub().answer(query="zebra +stripes", server="git")
    assert "'zebra stripes'" in text
    assert "'git'" in text
    assert '{"server": "hub", "tools": 2}' in text


@pytest.mark.req("SRC-20")
async def test_a_server_narrows_the_search_by_argument_or_in_the_query() -> None:
    assert await hub().states("log", server="hub") == [("mcp__hub__log", "loaded")]
    assert await hub().states("log server:git") == [("mcp__git__log", "loaded")]


@pytest.mark.req("SRC-28", "SRC-27")
async def test_what_the_rules_refuse_is_shown_only_when_named_and_without_its_schema() -> None:
    place = Place("mcp__git__log").add("mcp__git__log", "Show the history.").add("mcp__hub__log", "Show the log.")
    assert await place.states("log") == [("mcp__hub__log", "loaded")]
    [entry] = await place.search("select:mcp__git__log")
    assert (entry["state"], "schema" in entry) == ("blocked", False)
    assert "mcp__git__log" in str(entry["reason"])
    assert place.state.hydrated == {"mcp__hub__log"}


@pytest.mark.req("SRC-29")
async def test_in_plan_mode_no_mutating_tool_is_ranked_and_a_change_of_mode_counts_at_once() -> None:
    place = hub()
    place.state.mode = Mode.PLAN
    assert "Create_Issue" not in await place.answer(query="report a bug")
    assert await place.states("select:Create_Issue") == [("mcp__hub__Create_Issue", "blocked")]
    place.state.mode = Mode.DEFAULT
    assert await place.states("report a bug") == [("mcp__hub__Create_Issue", "loaded")]


@pytest.mark.req("SRC-27", "SRC-28")
async def test_a_withdrawn_tool_and_one_of_a_server_that_is_not_there_say_how_they_stand() -> None:
    place = Place(waiting={"slow": "connecting", "lost": "it does not answer"}).add("mcp__git__log", "Show history.")
    place.catalog.withdraw("mcp__git__log", "the server took it back")
    assert "mcp__git__log" not in await place.answer(query="history")
    assert await place.search("select:mcp__git__log,mcp__slow__x,mcp__lost__y") == [
        {"name": "mcp__git__log", "state": "unavailable", "reason": "the server took it back"},
        {"name": "mcp__slow__x", "state": "connecting", "reason": "its server 'slow' is connecting; ask again later"},
        {"name": "mcp__lost__y", "state": "unavailable", "reason": "it does not answer"},
    ]
    assert {"server": "slow", "tools": 0, "state": "connecting"} in await place.search()


@pytest.mark.req("SRC-27", "SRC-28")
async def test_a_tool_that_the_provider_is_not_sent_is_withheld_with_the_reason() -> None:
    place = Place().add("mcp__hub__Create_Issue", "Report a bug.", schema={"anyOf": [{"type": "string"}]})
    assert "Create_Issue" not in await place.answer(query="report a bug")
    [entry] = await place.search("select:Create_Issue")
    assert (entry["state"], entry["reason"]) == ("withheld", "its schema admits no object")


@pytest.mark.req("SRC-28", "CAT-71")
async def test_a_filtered_tool_is_never_told_of() -> None:
    place = hub()
    place.state.visibility = Visibility((ToolFilter(deny=("mcp__git__*",)),))
    for query in ("commit history", "mcp__git__log", "git", ""):
        assert "git__" not in await place.answer(query=query)
    [entry] = await place.search("select:mcp__git__log")
    assert entry["state"] == "not_found"
    assert "mcp__git__log" not in str(entry["nearest"])


@pytest.mark.req("SRC-30")
async def test_schemas_that_do_not_fit_are_left_out_whole_and_those_tools_are_not_hydrated() -> None:
    place = Place()
    for number in range(20):
        text = "x" * 2_500
        place.add(f"mcp__big__mail_{number:02}", "Sends mail. " + "Ä" * 300, schema={"type": "object", "title": text})
    found = await place.search("send mail", limit=20)
    assert len(found) == 20
    loaded = [entry["name"] for entry in found if entry["state"] == "loaded"]
    assert 3 <= len(loaded) < 10
    assert place.state.hydrated == set(loaded)
    for entry in found[len(loaded) :]:
        assert "schema" not in entry
        assert f"select:{entry['name']}" in str(entry["reason"])


@pytest.mark.req("SRC-30", "SRC-31")
async def test_an_answer_about_hundreds_of_names_stays_small_too() -> None:
    found = await hub().search("select:" + ",".join(f"q{n}" for n in range(300)))
    assert found[0]["state"] == "not_found"
    assert len(found) < 300
    many = Place()
    for number in range(150):
        many.add(f"mcp__server{number:03}__read", "Reads.")
    assert (await many.search())[-1] == {"further": 51}
    assert (
        len(await Place().answer(query="select:" + ",".join("\u4e00" + chr(0x4E00 + n) for n in range(300)))) < 25_000
    )


async def test_select_without_a_name_and_a_session_without_an_index_are_refused() -> None:
    async def refusal(environment: Environment, query: str) -> ToolError:
        with pytest.raises(ToolError) as caught:
            await ToolSearch().execute(ToolCall("c1", "ToolSearch", arguments={"query": query}), environment)
        return caught.value

    refused = await refusal(Environment(services={ToolIndex: Place().index}), "select: ,")
    assert refused.code is ErrorCode.INVALID_ARGUMENTS
    assert (await refusal(Environment(), "select:Read")).code is ErrorCode.TOOL_UNAVAILABLE


async def test_before_it_is_bound_to_a_conversation_nothing_is_visible() -> None:
    catalog = Catalog()
    catalog.register(Full("Read", "Reads."))
    index = SessionToolIndex(catalog, CatalogIndex(catalog))
    index.hydrate(["Read"])
    assert list(index.groups()) == []
    names: Sequence[object] = await index.named(["Read"])
    assert "nearest=()" in repr(names)
