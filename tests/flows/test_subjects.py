"""Which rule decides, subjects, targets, grants and what runs, over whole turns (sections 2, 3, 6, 7)."""

import json
from pathlib import Path

import anyio
import pytest

from hilt.adapters.execution_asyncio import AsyncioExecution
from hilt.app.config import Config
from hilt.app.settings import ShellSettings
from hilt.core.event import AskClosed, AskOpened
from hilt.core.permission import Effect, PermissionRule, Scope
from hilt.core.rulebook import RuleBook
from hilt.core.session import ToolFilter, UserMessage
from hilt.core.tool import ToolCall
from hilt.engine.catalog import Catalog
from hilt.engine.conversation import Conversation
from hilt.engine.emitter import Emitter
from hilt.engine.funnel import Parts, build_funnel
from hilt.engine.session import Session
from hilt.ports.permission import Verdict
from hilt.ports.tool import Environment
from hilt.testing import ScriptedModel
from tests.app.house import House, house, names
from tests.flows.acting import Proxy, error_of, through, write
from tests.flows.kit import Answering, Recorder, allow, ask, call, deny, run_turn, says

ONCE = Verdict(kind="allow_once")
ALWAYS = Verdict(kind="allow_always")
NO = Verdict(kind="deny")
CONTAINED = Config(sandboxed=True)
COMMANDS = (
    "echo  'a\tb'   \\\n  \"c\"  # d \u00e9\u0301",
    "  ls\n\n",
    "printf '\\x00' \u202e x",
    "A=1 git  status;  ls",
)


# ---------------------------------------------------------------- which rule, which subject


@pytest.mark.req("PRM-24")
@pytest.mark.parametrize("effect", list(Effect))
async def test_the_rule_that_is_told_is_of_the_highest_scope_then_the_first_written(effect: Effect) -> None:
    def rule(tool: str, scope: Scope) -> PermissionRule:
        return PermissionRule(effect=effect, tool=tool, scope=scope, source="x")

    rules = [
        rule("Look", Scope.USER),
        rule("*", Scope.SHARED_PROJECT),
        rule("L*", Scope.LOCAL_PROJECT),
        rule("Lo*", Scope.LOCAL_PROJECT),
        rule("Other", Scope.MANAGED),
    ]
    approver = Answering([ONCE])
    flow = await run_turn([says("Look")], [call("Look")], rules=rules, approver=approver)
    assert flow.recorder.records[0].detail["rule"] == f"{effect} L* [LocalProject]"
    if effect is Effect.ASK:
        assert approver.asked[0].rule == "L*"


@pytest.mark.req("PRM-14")
async def test_a_call_with_several_subjects_is_decided_for_each_and_the_worst_counts(tmp_path: Path) -> None:
    for name in ("docs", "secret", "src"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text("a")
    rules = [*allow("Copy(docs/*)"), *deny("Copy(secret/*)")]
    approver = Answering([NO])

    def copy(source: str, destination: str) -> dict[str, object]:
        return call("Copy", {"source": source, "destination": destination})

    async with house(tmp_path, enable={"files"}, rules=rules, approver=approver) as home:
        session = await home.app.sessions.create()
        results = await home.turn(
            session,
            copy("docs/a", "docs/b"),
            copy("src/a", "docs/c"),
            copy("docs/a", "secret/c"),
            copy("secret/a", "docs/d"),
        )
    assert [error_of(result) for result in results] == ["", "access_denied", "access_denied", "access_denied"]
    assert len(approver.asked) == 1
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == ["a", "b"]


@pytest.mark.req("PRM-15", "CAT-25")
async def test_a_tool_that_acts_for_others_is_decided_by_their_rules_and_its_own() -> None:
    async def outcome(*rules: PermissionRule, approver: Answering | None = None) -> list[str]:
        tools = [Proxy(), says("mcp__x__y"), says("mcp__x__z")]
        flow = await run_turn(tools, [through("mcp__x__y", "mcp__x__z")], rules=rules, approver=approver)
        return [error_of(result) for result in flow.results]

    both = allow("mcp__x__y", "mcp__x__z")
    assert await outcome(*both) == [""]
    assert await outcome(*both, *allow("Proxy"), *deny("mcp__x__y")) == ["access_denied"]
    assert await outcome(*both, *deny("Proxy")) == ["access_denied"]
    assert await outcome(*allow("mcp__x__y", "Proxy")) == ["access_denied"]
    approver = Answering([ONCE])
    assert await outcome(*both, *ask("Proxy"), approver=approver) == [""]
    assert await outcome(*both, *ask("mcp__x__z"), approver=approver) == [""]
    assert [one.tool for one in approver.asked] == ["Proxy", "Proxy"]


@pytest.mark.req("CAT-25")
async def test_a_target_that_changes_makes_the_call_a_change_and_lends_its_deadline() -> None:
    change = says("Change", read_only=False)
    change.timeout_s = 0.2  # type: ignore[attr-defined]  # the optional member

    class Slow(Proxy):
        def __init__(self) -> None:
            super().__init__()
            self._body = self._wait

        async def _wait(self, call: ToolCall, env: Environment) -> str:
            await anyio.sleep(30)
            return "late"

    flow = await run_turn([Slow(), change], [through("Change")], rules=allow("Change", "Proxy"))
    assert "after 200ms" in flow.results[0].content
    starts = [body for body in flow.bodies if body.kind == "tool.start"]
    assert [getattr(body, "read_only", None) for body in starts] == [False]


@pytest.mark.req("PRM-27")
async def test_a_childs_calls_are_decided_by_the_same_rules_and_its_asks_tell_its_name() -> None:
    catalog = Catalog()
    tools = [says("Denied"), says("Asked"), says("Allowed")]
    for tool in tools:
        catalog.register(tool)
    approver = Answering([ONCE])
    events: list[object] = []
    emitter = Emitter()
    emitter.subscribe(lambda event: events.append(event.body))
    parts = Parts(
        catalog=catalog,
        model=ScriptedModel([{"calls": [call(tool.spec.name) for tool in tools]}, {"text": "done"}]),
        env=Environment(),
        execution=AsyncioExecution(),
        rules=RuleBook([*deny("Denied"), *ask("Asked"), *allow("Allowed")]),
        approver=approver,
        agent_id="researcher",
    )
    await build_funnel(parts, emitter=emitter, session_id="s").loop.run(Conversation(), UserMessage(text="go"))
    assert [len(tool.calls) for tool in tools] == [0, 1, 1]
    assert [(one.tool, one.child, one.session_id) for one in approver.asked] == [("Asked", "researcher", "s")]
    assert [body.child for body in events if isinstance(body, AskOpened)] == ["researcher"]


@pytest.mark.req("PRM-28")
@pytest.mark.parametrize("mode", ["default", "accept-edits", "auto"])
async def test_changes_of_hilts_own_and_gits_files_are_asked_in_every_mode(tmp_path: Path, mode: str) -> None:
    (tmp_path / ".hilt").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("old")
    (tmp_path / "a").write_text("a")
    approver = Answering([NO])
    calls = [
        write(".hilt/settings.yaml"),
        write(".hilt/settings.local.yaml"),
        write(".hilt/mcp.toml"),
        write(".hilt/mcp.lock"),
        call("Copy", {"source": "a", "destination": ".git/hooks"}),
        call("Move", {"source": ".git/config", "destination": "b"}),
        call("Remove", {"path": ".git/config"}),
    ]
    async with house(
        tmp_path, config=CONTAINED, enable={"files"}, rules=allow("Write", "Copy", "Move", "Remove"), approver=approver
    ) as home:
        session = await home.app.sessions.create(mode=mode)
        results = await home.turn(session, *calls)
    assert [error_of(result) for result in results] == ["access_denied"] * len(calls)
    assert len(approver.asked) == len(calls)
    assert list((tmp_path / ".hilt").iterdir()) == []
    assert (tmp_path / ".git" / "config").read_text() == "old"


@pytest.mark.req("PRM-28")
async def test_an_allow_that_names_the_protected_file_lets_the_change_through(tmp_path: Path) -> None:
    rules = allow("Write(.hilt/settings.yaml)", "Write(.hilt/*)")
    async with house(tmp_path, enable={"files"}, rules=rules) as home:
        session = await home.app.sessions.create()
        results = await home.turn(session, write(".hilt/settings.yaml"), write(".hilt/mcp.toml"), write(".hilt/x"))
    assert [error_of(result) for result in results] == ["", "access_denied", ""]


# ---------------------------------------------------------------- always, and what runs


async def test_a_verdict_for_a_simple_command_is_remembered(tmp_path: Path) -> None:
    approver = Answering([ALWAYS, NO])
    async with house(tmp_path, enable={"shell"}, approver=approver) as home:
        session = await home.app.sessions.create()
        same = call("shell", {"command": "echo a"})
        results = [*await home.turn(session, same), *await home.turn(session, same)]
    assert [error_of(result) for result in results] == ["", ""]
    assert len(approver.asked) == 1
    assert approver.asked[0].rememberable


@pytest.mark.req("PRM-53")
@pytest.mark.parametrize("command", ["echo a; echo b", "$(echo echo) a"])
async def test_a_command_that_cannot_be_remembered_is_allowed_once_and_told_so(tmp_path: Path, command: str) -> None:
    approver = Answering([ALWAYS, NO])
    async with house(tmp_path, enable={"shell"}, approver=approver) as home:
        session = await home.app.sessions.create()
        same = call("shell", {"command": command})
        results = [*await home.turn(session, same), *await home.turn(session, same)]
        closed = [event.body for event in home.events if isinstance(event.body, AskClosed)]
    assert [error_of(result) for result in results] == ["", "access_denied"]
    assert not approver.asked[0].rememberable
    assert (closed[0].verdict, closed[0].remembered) == ("allow_once", False)
    assert "cannot be remembered" in closed[0].message


@pytest.mark.req("PRM-54", "CAT-75")
async def test_grants_and_the_filter_of_a_session_hold_again_after_resume(tmp_path: Path) -> None:
    approver = Answering([ALWAYS, NO])
    options: dict[str, object] = {
        "store": f"jsonl:{tmp_path / 'store'}",
        "tools": [says("Look"), says("Hidden"), says("Other")],
        "rules": ask("Look"),
        "approver": approver,
    }

    async def both(home: House, session: Session) -> list[str]:
        results = await home.turn(session, call("Look", {"n": 1}), call("Hidden"))
        assert "Hidden" not in home.listed()
        assert "Hidden" not in names(session)
        assert "Other" in names(session)
        return [error_of(result) for result in results]

    async with house(tmp_path, **options) as home:
        session = await home.app.sessions.create(id="s1", tools=ToolFilter(deny=("Hidden",)))
        assert await both(home, session) == ["", "access_denied"]
    async with house(tmp_path, **options) as home:
        session = await home.app.sessions.open("s1")
        assert await both(home, session) == ["", "access_denied"]
        other = await home.turn(session, call("Look", {"n": 2}))
        fresh = await home.app.sessions.create()
        unasked = await home.turn(fresh, call("Look", {"n": 1}))
    assert error_of(other[0]) == error_of(unasked[0]) == "access_denied"
    assert len(approver.asked) == 3


@pytest.mark.req("CAT-75")
async def test_a_filter_that_was_changed_holds_again_after_resume(tmp_path: Path) -> None:
    options: dict[str, object] = {"store": f"jsonl:{tmp_path / 'store'}", "tools": [says("Look"), says("Other")]}
    async with house(tmp_path, **options) as home:
        session = await home.app.sessions.create(id="s1", tools=ToolFilter(deny=("Look",)))
        await session.set(tools=ToolFilter(allow=("Look",)))
    async with house(tmp_path, **options) as home:
        session = await home.app.sessions.open("s1")
        results = await home.turn(session, call("Look"), call("Other"))
        assert home.listed() == ["Look"]
    assert [error_of(result) for result in results] == ["", "access_denied"]


@pytest.mark.req("PRM-70")
async def test_the_command_that_runs_is_the_one_that_was_decided_byte_for_byte(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "bash"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nprintf '%s' \"$2\" > '{tmp_path}/ran'\n")
    program.chmod(0o755)
    config = Config(shell=ShellSettings(program=str(program)))
    recorder = Recorder()
    work = tmp_path / "work"
    work.mkdir()
    for command in COMMANDS:
        approver = Answering([ONCE])
        async with house(work, config=config, enable={"shell"}, approver=approver, recorder=recorder) as home:
            session = await home.app.sessions.create()
            await home.turn(session, call("shell", {"command": command}))
        assert (tmp_path / "ran").read_bytes() == command.encode()
        assert json.loads(approver.asked[0].arguments)["command"] == command
        assert recorder.records[-1].call.arguments["command"] == command
