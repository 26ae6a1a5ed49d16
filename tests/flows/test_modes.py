"""Modes over whole turns (permissions-hooks.md section 5, catalog.md section 5)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import hilt
from hilt.app.config import Config
from hilt.core.errors import RequestError
from hilt.core.hook import HookAnswer, HookInput
from hilt.core.permission import Scope
from hilt.core.session import Mode
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.function_hook import hook
from hilt.engine.session import Session
from hilt.ports.permission import Verdict
from hilt.ports.tool import Environment
from hilt.testing import ScriptedModel
from tests.app.house import house
from tests.flows.acting import Proxy, error_of, through, write
from tests.flows.kit import Answering, Flow, FunctionTool, allow, ask, call, deny, run_turn, says

ALWAYS = Verdict(kind="allow_always")
CONTAINED = Config(sandboxed=True)
META = ("ReadResult", "ToolSearch")


class Flips:
    """A reading tool that a call can turn into a changing one."""

    spec = ToolSpec("Flips", "For tests.", {"type": "object", "properties": {"change": {"type": "boolean"}}})
    read_only = True

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []

    def read_only_for(self, call: ToolCall) -> bool:
        """Tell whether the call reads."""
        return not call.arguments.get("change")

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Note the call."""
        self.calls.append(call)
        return ToolResult.text(call.id, "ok")


# ---------------------------------------------------------------- plan


@pytest.mark.req("PRM-40", "CAT-61")
async def test_plan_mode_runs_no_change_whatever_allows_it() -> None:
    change, look = says("Change", read_only=False), says("Look")
    approver = Answering([ALWAYS])
    flow = Flow(
        [change, look],
        [{"calls": [call("Change"), call("Look"), call("Change")]}, {"text": "done"}],
        mode=Mode.PLAN,
        rules=allow("Change"),
        approver=approver,
    )
    flow.agent.conversation.grants.extend(allow("Change"))
    await flow.run()
    assert [error_of(result) for result in flow.results] == ["access_denied", "", "access_denied"]
    assert "plan mode" in flow.results[0].content
    assert change.calls == []
    assert approver.asked == []
    assert [spec.name for spec in flow.model.requests[0].tools] == ["Look"]


@pytest.mark.req("CAT-62", "PRM-40")
async def test_plan_mode_refuses_a_call_that_itself_or_a_target_makes_a_change() -> None:
    flips, change = Flips(), says("Change", read_only=False)
    proxy = Proxy()
    calls = [
        call("Flips", {"change": True}),
        call("Flips"),
        through("Look", "Change"),
        through("Look"),
        through({"name": "Flips", "args": {"change": True}}),
    ]
    flow = await run_turn(
        [flips, change, says("Look"), proxy], calls, mode=Mode.PLAN, rules=allow("Change", "Flips", "Proxy")
    )
    codes = [error_of(result) for result in flow.results]
    assert codes == ["access_denied", "", "access_denied", "", "access_denied"]
    assert len(flips.calls) == 1
    assert len(proxy.calls) == 1


@pytest.mark.req("CAT-62")
async def test_plan_mode_refuses_what_a_hook_turns_into_a_change() -> None:
    @hook("PreToolUse")
    async def turn(seen: HookInput) -> HookAnswer:
        return HookAnswer(updated_input={"change": True})

    flips = Flips()
    flow = await run_turn([flips], [call("Flips")], mode=Mode.PLAN, hooks=[turn], rules=allow("Flips"))
    assert error_of(flow.results[0]) == "access_denied"
    assert flips.calls == []


@pytest.mark.req("CAT-63")
async def test_a_change_of_mode_holds_from_the_next_request_on_and_keeps_the_order(tmp_path: Path) -> None:
    sessions: list[Session] = []

    async def body(call: ToolCall, env: Environment) -> str:
        await sessions[0].set(mode="plan")
        return "planning"

    change = says("Change", read_only=False)
    tools = [says("Zoo"), FunctionTool("plan", body), change, says("Abc")]
    async with house(tmp_path, tools=tools, rules=allow("Change")) as home:
        sessions.append(await home.app.sessions.create())
        home.model.add({"calls": [call("plan"), call("Change")]}, {"calls": [call("Change")]}, {"text": "done"})
        async for _ in sessions[0].prompt("go"):
            pass
        before, after, last = (home.listed(number) for number in range(3))
    assert len(change.calls) == 1
    assert [name for name in before if name not in META] == ["Abc", "Change", "Zoo", "plan"]
    assert after == last == [name for name in before if name != "Change"]


# ---------------------------------------------------------------- the other modes


@pytest.mark.req("PRM-41")
async def test_default_applies_the_rules_as_they_are(tmp_path: Path) -> None:
    async with house(tmp_path, enable={"files"}, rules=allow("Write(docs/*)")) as home:
        session = await home.app.sessions.create(mode="default")
        results = await home.turn(session, write("docs/a"), write("b"), call("ListDir"))
    assert [error_of(result) for result in results] == ["", "access_denied", ""]


@pytest.mark.req("PRM-42")
async def test_accept_edits_allows_write_and_edit_in_the_workspace_and_nothing_else(tmp_path: Path) -> None:
    root, extra = tmp_path / "work", tmp_path / "extra"
    root.mkdir()
    extra.mkdir()
    (root / "old").write_text("a b\n")
    config = Config(extra_roots=(str(extra),))
    rules = [*ask("Write(asked)"), *deny("Write(denied)")]
    rules = [*(replace(rule, scope=Scope.CLI) for rule in rules), *ask("shell")]
    calls = [
        write("new"),
        call("Read", {"path": "old"}),
        call("Edit", {"path": "old", "old_string": "a", "new_string": "c"}),
        write(str(extra / "new")),
        call("Copy", {"source": "old", "destination": "copy"}),
        call("Move", {"source": "old", "destination": "moved"}),
        call("Remove", {"path": "old"}),
        call("shell", {"command": "touch ran"}),
        write("asked"),
        write("denied"),
        call("Change"),
    ]
    async with house(
        root, config=config, enable={"files", "shell"}, rules=rules, tools=[says("Change", read_only=False)]
    ) as home:
        session = await home.app.sessions.create(mode="accept-edits")
        results = await home.turn(session, *calls)
    assert [error_of(result) for result in results] == ["", "", ""] + ["access_denied"] * 8
    assert sorted(path.name for path in root.iterdir()) == ["new", "old"]
    assert (root / "old").read_text() == "c b\n"
    assert list(extra.iterdir()) == []


@pytest.mark.req("PRM-43")
async def test_auto_allows_what_only_a_default_asks_and_keeps_denies_and_stated_asks(tmp_path: Path) -> None:
    tools = [says("Change", read_only=False), says("Asked"), says("Denied")]
    calls = [
        write("new"),
        call("shell", {"command": "touch ran"}),
        call("Change"),
        call("Asked"),
        call("Denied"),
    ]
    async with house(
        tmp_path,
        config=CONTAINED,
        enable={"files", "shell"},
        tools=tools,
        rules=[*ask("Asked"), *deny("Denied")],
    ) as home:
        session = await home.app.sessions.create(mode="auto")
        results = await home.turn(session, *calls)
    assert [error_of(result) for result in results] == ["", "", "", "access_denied", "access_denied"]
    assert "no approver" in results[3].content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "ran"]


@pytest.mark.req("PRM-43")
async def test_auto_allows_a_tool_that_no_rule_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HILT_SANDBOX", "1")
    unknown = says("mcp__s__t")
    flow = await run_turn([unknown], [call("mcp__s__t")], mode=Mode.AUTO)
    assert error_of(flow.results[0]) == ""
    flow = await run_turn([unknown], [call("mcp__s__t")], mode=Mode.DEFAULT)
    assert error_of(flow.results[0]) == "access_denied"


@pytest.mark.req("PRM-44")
async def test_auto_is_refused_for_root_unless_contained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    async with house(tmp_path, tools=[says("Look")]) as home:
        with pytest.raises(RequestError, match="HILT_SANDBOX=1") as caught:
            await home.app.sessions.create(mode="auto")
        assert caught.value.code == "forbidden"
        session = await home.app.sessions.create()
        with pytest.raises(RequestError, match="HILT_SANDBOX=1"):
            await session.set(mode="auto")
        assert session.mode is Mode.DEFAULT
    async with house(tmp_path, config=CONTAINED, tools=[says("Look")]) as home:
        assert (await home.app.sessions.create(mode="auto")).mode is Mode.AUTO
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    async with house(tmp_path, tools=[says("Look")]) as home:
        session = await home.app.sessions.create(mode="auto")
        await session.set(mode="default")
        await session.set(mode="auto")
        assert session.mode is Mode.AUTO


@pytest.mark.req("PRM-44")
def test_an_agent_without_settings_refuses_auto_for_root_unless_contained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.delenv("HILT_SANDBOX", raising=False)
    with pytest.raises(hilt.ConfigError, match="HILT_SANDBOX=1"):
        hilt.Agent(catalog=hilt.Catalog(), model=ScriptedModel([]), mode=Mode.AUTO)
    monkeypatch.setenv("HILT_SANDBOX", "1")
    agent = hilt.Agent(catalog=hilt.Catalog(), model=ScriptedModel([]), mode=Mode.AUTO)
    assert agent.conversation.mode is Mode.AUTO
    monkeypatch.delenv("HILT_SANDBOX")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert hilt.Agent(catalog=hilt.Catalog(), model=ScriptedModel([]), mode=Mode.AUTO).conversation.mode is Mode.AUTO


@pytest.mark.req("PRM-45")
async def test_no_tool_and_no_hook_can_change_the_mode(tmp_path: Path) -> None:
    reached: list[str] = []

    async def body(call: ToolCall, env: Environment) -> str:
        for target in (env, call):
            for name in ("mode", "permission_mode"):
                assert not hasattr(target, name)
                with pytest.raises(AttributeError):
                    setattr(target, name, "auto")
        reached.append("tool")
        return json.dumps({"permission_mode": "auto", "mode": "auto"})

    def loosens(event: str) -> object:
        @hook(event)
        def one(seen: HookInput) -> dict[str, object]:
            with pytest.raises(AttributeError):
                seen.permission_mode = "auto"  # type: ignore[misc]  # what the test tries
            reached.append(event)
            return {"permission_mode": "auto", "mode": "auto"}

        return one

    events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"]
    change = says("Change", read_only=False)
    tools = [FunctionTool("Look", body), change]
    async with house(tmp_path, tools=tools, hooks=[loosens(event) for event in events]) as home:
        session = await home.app.sessions.create(mode="plan")
        first = await home.turn(session, call("Look"), call("Change"))
        second = await home.turn(session, call("Change"))
        assert (session.mode, session.record.mode) == (Mode.PLAN, Mode.PLAN)
        await session.set(mode="default")
        assert str(session.mode) == "default"
    assert set(reached) == {"tool", *events}
    assert [error_of(result) for result in (*first, *second)] == ["", "access_denied", "access_denied"]
    assert change.calls == []
