"""What every session store promises."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from hilt.core.content import ImagePart, StructuredPart
from hilt.core.errors import ConflictError, RequestError
from hilt.core.session import (
    AssistantMessage,
    Limits,
    Mode,
    PendingAsk,
    RunId,
    SessionId,
    SessionRecord,
    SessionState,
    SummaryMessage,
    ToolFilter,
    ToolMessage,
    Usage,
    UserMessage,
)
from hilt.core.tool import ToolCall, ToolResult
from tests.contracts.stores import AWKWARD_IDS, STORES, Store, event, record


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = STORES[request.param](tmp_path)
    yield store
    store.close()


FULL = SessionRecord(
    id=SessionId("ses_full"),
    owner="ann",
    created_at="2026-01-01T00:00:00+00:00",
    updated_at="2026-01-01T00:00:01+00:00",
    title="a title",
    state=SessionState.AWAITING,
    mode=Mode.ACCEPT_EDITS,
    model="scripted:x",
    system_prompt="be short",
    profile="no-fs",
    workspace="demo",
    enable=("files",),
    tools=ToolFilter(allow=("Read", "mcp__*"), deny=("shell",)),
    limits={"max_turns": 3, "max_seconds": 1.5, "max_tokens": None},
    messages=(
        UserMessage(text="look", parts=(ImagePart(data="AAAA", mime_type="image/png"),)),
        AssistantMessage(
            text="I look",
            reasoning="hm",
            reasoning_signature="seal",
            calls=(ToolCall("c1", "Read", '{"path": "a\\u0000b", "n": 12345678901234567890123}'),),
        ),
        ToolMessage(
            results=(
                ToolResult("c1", "é\n\u2028", True, (StructuredPart(value={"n": 10**30, "x": [None, 1.5]}),)),
                ToolResult("c2", ""),
            )
        ),
        UserMessage(text="job ended", notice=True),
        SummaryMessage(text="before that, much happened"),
        ToolMessage(results=()),
    ),
    grants=("Write(src/**)",),
    hydrated=("mcp__git__log",),
    ledger={"a.py": "v1"},
    pending=PendingAsk(ask_id="a1", call_id="c1", tool="Write", reason="rule", arguments={"n": 2**70}),
    run=RunId("run_1"),
    turns=2,
    tool_calls=3,
    usage=Usage(input=1, output=2, cache_read=3, cache_write=4),
    last_seq=9,
    client_servers=("mine",),
)


async def test_an_unknown_session_is_none_not_an_error(store: Store) -> None:
    assert await store.sessions.load(SessionId("never saved")) is None
    assert await store.sessions.delete(SessionId("never saved")) is False
    assert await store.sessions.list() == ([], "")


@pytest.mark.req("SES-11")
async def test_a_saved_record_is_loaded_as_it_was_one_version_on(store: Store) -> None:
    saved = await store.sessions.save(FULL)
    assert saved == replace(FULL, version=1)
    assert await store.sessions.load(FULL.id) == saved
    again = await store.sessions.save(replace(saved, title="another"))
    assert again.version == 2
    assert await store.sessions.load(FULL.id) == again


@pytest.mark.req("SES-14")
@pytest.mark.parametrize("version", [0, 1, 3])
async def test_a_save_with_a_version_that_is_not_the_current_one_is_refused(store: Store, version: int) -> None:
    first = await store.sessions.save(record("a"))
    second = await store.sessions.save(replace(first, title="kept"))
    with pytest.raises(ConflictError):
        await store.sessions.save(replace(first, version=version, title="lost"))
    assert await store.sessions.load(SessionId("a")) == second


async def test_a_save_of_a_session_that_is_gone_is_refused(store: Store) -> None:
    saved = await store.sessions.save(record("a"))
    assert await store.sessions.delete(saved.id) is True
    with pytest.raises(ConflictError, match="is gone"):
        await store.sessions.save(saved)
    assert await store.sessions.load(saved.id) is None


@pytest.mark.req("SES-14")
async def test_of_saves_at_once_exactly_one_succeeds(store: Store) -> None:
    outcomes: list[str] = []

    async def save(base: SessionRecord, title: str) -> None:
        try:
            await store.sessions.save(replace(base, title=title))
        except ConflictError:
            outcomes.append("refused")
        else:
            outcomes.append(title)

    base = record("a")
    for _ in range(5):
        outcomes.clear()
        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(save, base, f"title {number}")
        stored = await store.sessions.load(SessionId("a"))
        assert stored is not None
        assert sorted(outcomes) == sorted([stored.title, *["refused"] * 5])
        base = stored


@pytest.mark.req("SES-15")
async def test_lists_come_in_pages_by_time_of_creation_stable_while_sessions_are_added(store: Store) -> None:
    for second in (4, 1, 3, 0, 2):
        await store.sessions.save(record(f"s{second}", second))
    names: list[str] = []
    cursor, added = "", 10
    while True:
        page, cursor = await store.sessions.list(cursor=cursor, limit=2)
        names += [item.id for item in page]
        await store.sessions.save(record(f"s{added}", added))
        added += 1
        if not cursor or added > 12:
            break
    rest, end = await store.sessions.list(cursor=cursor, limit=200)
    assert names + [item.id for item in rest] == ["s0", "s1", "s2", "s3", "s4", "s10", "s11", "s12"]
    assert end == ""


@pytest.mark.req("SES-15")
async def test_a_page_has_at_most_200_sessions_and_sessions_of_one_moment_have_one_order(
    store: Store,
) -> None:
    for number in range(203):
        await store.sessions.save(record(f"s{number:03}"))
    first, cursor = await store.sessions.list(limit=10_000)
    second, end = await store.sessions.list(cursor=cursor, limit=0)
    third, last = await store.sessions.list(cursor=end)
    assert (len(first), len(second), len(third), last) == (200, 1, 2, "")
    assert [item.id for item in [*first, *second, *third]] == [f"s{number:03}" for number in range(203)]


@pytest.mark.req("SES-73")
async def test_a_list_for_an_owner_has_theirs_alone_in_pages(store: Store) -> None:
    owners = ["ann", "bob", "", "ann", "bob", "ann"]
    for number, owner in enumerate(owners):
        await store.sessions.save(record(f"s{number}", number, owner=owner))
    first, cursor = await store.sessions.list(limit=2, owner="ann")
    second, end = await store.sessions.list(cursor=cursor, limit=2, owner="ann")
    assert ([item.id for item in [*first, *second]], end) == (["s0", "s3", "s5"], "")
    assert [item.id for item in (await store.sessions.list(owner=""))[0]] == ["s2"]
    assert await store.sessions.list(owner="nobody") == ([], "")
    assert len((await store.sessions.list())[0]) == len(owners)


@pytest.mark.parametrize("cursor", ["nonsense", "é", "W10=", "WzEsMl0="])
async def test_a_cursor_that_no_list_gave_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(RequestError) as caught:
        await store.sessions.list(cursor=cursor)
    assert caught.value.code == "bad_request"


async def test_a_list_shows_a_change_and_not_what_was_deleted(store: Store) -> None:
    first = await store.sessions.save(record("a", 1))
    second = await store.sessions.save(record("b", 2))
    assert await store.sessions.list() == ([first, second], "")
    changed = await store.sessions.save(replace(second, title="changed"))
    await store.sessions.delete(first.id)
    assert await store.sessions.list() == ([changed], "")


@pytest.mark.req("SES-21")
async def test_ids_that_are_awkward_as_names_are_kept_apart(store: Store) -> None:
    for name in AWKWARD_IDS:
        await store.sessions.save(record(name, title=f"of {name}"))
    for name in AWKWARD_IDS:
        loaded = await store.sessions.load(SessionId(name))
        assert loaded is not None
        assert loaded.title == f"of {name}"
    assert len((await store.sessions.list())[0]) == len(AWKWARD_IDS)


@pytest.mark.req("SES-06")
async def test_deleting_removes_audit_events_and_record_and_leaves_other_sessions(store: Store) -> None:
    for name in ("a", "b"):
        saved = await store.sessions.save(record(name))
        await store.events.append(saved.id, [event(1)])
        call = ToolCall("c1", "Read", arguments={})
        await store.calls.tool_call(name, call, ToolResult("c1", "x"), 0.0, 0.0, detail={})
    assert await store.sessions.delete(SessionId("a")) is True
    assert await store.sessions.load(SessionId("a")) is None
    assert await store.events.read(SessionId("a")) == []
    assert await store.calls.read("a") == []
    assert await store.sessions.delete(SessionId("a")) is False
    assert await store.sessions.load(SessionId("b")) is not None
    assert len(await store.events.read(SessionId("b"))) == 1
    assert len(await store.calls.read("b")) == 1


async def test_limits_of_a_record_are_numbers_or_none(store: Store) -> None:
    saved = await store.sessions.save(record("a", limits={"max_turns": 5, "max_tokens": None}))
    loaded = await store.sessions.load(saved.id)
    assert loaded is not None
    assert Limits().narrowed(loaded.limits).max_turns == 5
