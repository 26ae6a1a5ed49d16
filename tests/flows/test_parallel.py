"""Parallel: branches side by side, what of them comes back, and what happens when some of it fails."""

import json
from pathlib import Path

import anyio
import pytest

from hilt.core.branch import CRITERIA
from hilt.core.event import ToolProgress
from hilt.core.session import StopReason
from hilt.core.tool import ToolCall
from hilt.ports.model import ModelRequest
from hilt.ports.tool import Environment
from tests.flows.acting import error_of
from tests.flows.children_kit import Answer, Cast, stage
from tests.flows.delegation_kit import (
    JUDGE,
    RATER,
    body_of,
    cast_of,
    entries,
    gives_up,
    judged,
    parallel,
    places,
    prompt_of,
    ran,
    rated,
    states,
)
from tests.flows.kit import FunctionTool, call, says

# ---------------------------------------------------------------- all


@pytest.mark.req("BLT-70", "BLT-72")
async def test_results_come_in_the_order_of_tasks_though_they_end_in_another(tmp_path: Path) -> None:
    cast = Cast(a=[{"text": "from a"}], b=[{"text": "from b"}], c=[{"calls": [call("Look")]}])
    held = cast.hold("a")

    def last(request: ModelRequest) -> Answer:
        held.set()
        return {"text": "from c"}

    cast.parts["c"].append(last)
    async with stage(tmp_path, cast, tools=[says("Look", "secret")]) as on:
        found = entries(body_of(await ran(on, "a", "b", "c")))
        assert [(entry["task"], entry["state"], entry["result"]) for entry in found] == [
            (1, "completed", "from a"),
            (2, "completed", "from b"),
            (3, "completed", "from c"),
        ]
        assert all("secret" not in str(request.messages) for request in cast.seen("main"))
        kept = await on.one("SubagentStatus", agent_id=found[2]["agent_id"])
        assert (kept["description"], kept["result"]) == ("branch 3 of 3: c", "from c")
        told = [body.text for body in on.bodies if isinstance(body, ToolProgress)]
        assert "agent-3: Look" in told
        assert "branch 3 succeeded" in told
        assert on.told == []


@pytest.mark.req("BLT-60", "BLT-62")
async def test_branches_are_told_what_is_shared_then_their_task_and_have_no_tools_for_agents(tmp_path: Path) -> None:
    cast = Cast(We=[{"calls": [parallel("more")]}, {"text": "ok"}])
    async with stage(tmp_path, cast, tools=[says("Look")]) as on:
        await ran(on, "a", "b", shared="We count words.")
        starts = [request for request in cast.seen("We") if len(request.messages) == 1]
        assert sorted(map(prompt_of, starts)) == ["We count words.\n\na", "We count words.\n\nb"]
        assert {spec.name for spec in starts[0].tools} == {"Look", "ReadResult"}
        refused = [request.messages[-1] for request in cast.seen("We") if len(request.messages) == 3]
        assert all("access_denied" in str(message) for message in refused)


@pytest.mark.req("BLT-70", "BLT-61")
async def test_branches_wait_for_a_place_and_never_more_run_than_there_are(tmp_path: Path) -> None:
    running: set[str] = set()
    most = 0
    full = anyio.Event()

    async def look(call: ToolCall, env: Environment) -> str:
        nonlocal most
        running.add(call.id)
        most = max(most, len(running))
        if len(running) == 2:
            full.set()
        await full.wait()
        running.discard(call.id)
        return "seen"

    cast = Cast(task=[{"calls": [call("Look")]}, {"text": "ok"}])
    async with stage(tmp_path, cast, tools=[FunctionTool("Look", look)], config=places(2)) as on:
        found = entries(body_of(await ran(on, *(f"task {number}" for number in range(16)))))
        assert [entry["state"] for entry in found] == ["completed"] * 16
        assert most == 2


@pytest.mark.req("BLT-70")
async def test_a_failed_branch_is_an_error_entry_and_the_others_go_on(tmp_path: Path) -> None:
    cast = Cast(
        bad=[{"text": "half", "calls": [call("Look")]}, gives_up()],
        empty=[{"text": " "}],
        good=[{"text": "fine"}],
    )
    cast.hold("good")

    def late(request: ModelRequest) -> Answer:
        cast.waits["good"].set()
        return gives_up("the provider is gone")

    cast.parts["bad"][1] = late
    async with stage(tmp_path, cast, tools=[says("Look")]) as on:
        bad, empty, good = entries(body_of(await ran(on, "bad", "empty", "good")))
        assert (bad["state"], bad["last_answer"]) == ("failed", "half")
        assert "the provider is gone" in str(bad["error"])
        assert (empty["state"], empty["error"]) == ("failed", "its answer was empty")
        assert (good["state"], good["result"]) == ("completed", "fine")


@pytest.mark.req("BLT-70")
@pytest.mark.parametrize("join", ["all", "first", "judge", "best"])
async def test_when_all_fail_the_error_holds_that_of_each(tmp_path: Path, join: str) -> None:
    cast = Cast(a=[gives_up("a is down")], b=[{"text": ""}])
    async with stage(tmp_path, cast) as on:
        result = await ran(on, "a", "b", join=join)
        assert error_of(result) == "execution_failed"
        body = json.loads(result.content)
        assert "every branch failed. task 1: " in body["message"]
        assert body["message"].endswith("task 2: its answer was empty")
        first, second = body["data"]["results"]
        assert "a is down" in first["error"]
        assert second["task"] == 2
        assert on.result.stop_reason is StopReason.END_TURN


@pytest.mark.req("BLT-70")
async def test_long_results_share_the_room_and_the_rest_of_each_can_be_read(tmp_path: Path) -> None:
    long = "é" * 30_000
    cast = Cast(long=[{"text": long}], short=[{"text": "brief"}], other=[{"text": "x\n" * 20_000}])
    async with stage(tmp_path, cast) as on:
        result = await ran(on, "long", "short", "other")
        assert len(result.content.encode()) <= 25_000
        first, second, third = (str(entry["result"]) for entry in entries(body_of(result)))
        assert second == "brief"
        assert len(first.encode()) > 10_000
        assert len(third) > 7_000
        handle = first.partition("handle='")[2].partition("'")[0]
        (page,) = await on.play({"calls": [call("ReadResult", {"handle": handle, "offset": 20_000, "limit": 100})]})
        assert page.content.endswith("é" * 50)
        long_errors = Cast(a=[gives_up("x" * 9_000)], b=[{"text": "fine"}])
    async with stage(tmp_path, long_errors) as on:
        failed, _ = entries(body_of(await ran(on, "a", "b")))
        assert len(str(failed["error"])) == 300


# ---------------------------------------------------------------- first


@pytest.mark.req("BLT-70")
async def test_the_first_that_succeeds_is_returned_and_the_rest_is_cancelled(tmp_path: Path) -> None:
    cast = Cast(bad=[gives_up()], slow=[{"text": "too late"}], quick=[{"text": "here"}], never=[{"text": "x"}])
    cast.hold("slow")
    held = cast.hold("quick")
    async with stage(tmp_path, cast, config=places(3)) as on:
        async with anyio.create_task_group() as group:

            async def open_() -> None:
                await cast.reach("slow")
                await cast.reach("bad")
                held.set()

            group.start_soon(open_)
            body = body_of(await ran(on, "bad", "slow", "quick", "slow", "slow", "slow", join="first"))
        assert (body["task"], body["result"]) == (3, "here")
        assert body["reason"] == "it was the first that succeeded"
        others = entries(body, "others")
        assert [entry["task"] for entry in others] == [1, 2, 4, 5, 6]
        assert [entry["state"] for entry in others] == ["failed", *["cancelled"] * 4]
        assert others[1]["error"] == "another branch succeeded first"
        assert "agent_id" in others[1]
        assert "agent_id" not in others[4]
        before = len(cast.seen("slow"))
        cast.waits["slow"].set()
        await anyio.wait_all_tasks_blocked()
        assert len(cast.seen("slow")) == before
        assert await states(on) == ["failed", "cancelled", "completed", *["cancelled"] * (before - 1)]


# ---------------------------------------------------------------- judge


@pytest.mark.req("BLT-70", "BLT-60")
async def test_a_judge_without_tools_sees_all_results_and_names_one_with_the_reason(tmp_path: Path) -> None:
    cast = cast_of({"We": [{"text": "the answer of one"}], JUDGE: [judged(2)]})
    async with stage(tmp_path, cast, tools=[says("Look")]) as on:
        body = body_of(await ran(on, "a", "b", shared="We try.", join="judge", criteria="short and true"))
        assert (body["task"], body["result"], body["reason"]) == (2, "the answer of one", "the clearest")
        (other,) = entries(body, "others")
        assert (other["task"], other["state"]) == (1, "completed")
        (request,) = cast.seen(JUDGE)
        assert request.tools == ()
        assert "You compare the work of others" in request.system
        prompt = prompt_of(request)
        assert "The criteria: short and true" in prompt
        assert "What every agent was told first:\nWe try." in prompt
        assert "--- task 1 ---\na\n--- result 1 ---\nthe answer of one\n--- end ---" in prompt
        assert "--- task 2 ---\nb" in prompt
        read = await on.one("SubagentStatus", agent_id=other["agent_id"])
        assert read["result"] == "the answer of one"


@pytest.mark.req("BLT-70")
@pytest.mark.parametrize("answer", [gives_up("no judge"), {"text": "the second, I think"}, judged(3)])
async def test_when_the_judge_fails_all_results_come_back_and_say_so(tmp_path: Path, answer: Answer) -> None:
    cast = cast_of({"a": [{"text": "from a"}], "b": [{"text": "from b"}], "c": [gives_up()], JUDGE: [answer]})
    async with stage(tmp_path, cast) as on:
        body = body_of(await ran(on, "a", "b", "c", join="judge"))
        assert str(body["note"]).startswith("No branch was chosen, so all results follow: the judge failed: ")
        first, second, third = entries(body)
        assert (first["result"], second["result"]) == ("from a", "from b")
        assert third["state"] == "failed"
        assert CRITERIA in prompt_of(cast.seen(JUDGE)[0])


@pytest.mark.req("BLT-70")
@pytest.mark.parametrize("join", ["judge", "best"])
async def test_the_only_branch_that_succeeded_needs_no_comparison(tmp_path: Path, join: str) -> None:
    cast = Cast(a=[gives_up()], b=[{"text": "from b"}])
    async with stage(tmp_path, cast) as on:
        body = body_of(await ran(on, "a", "b", join=join))
        assert (body["task"], body["result"], body["reason"]) == (2, "from b", "no other branch succeeded")
        assert set(cast.requests) == {"main", "a", "b"}


# ---------------------------------------------------------------- best


@pytest.mark.req("BLT-70")
async def test_each_result_is_rated_by_itself_and_the_best_rated_comes_back_with_its_reason(tmp_path: Path) -> None:
    scores = {"amber": 4, "birch": 9, "cedar": 9.0}
    cast = cast_of({**{word: [{"text": f"all on {word}"}] for word in scores}, RATER: [rated(scores)]})
    async with stage(tmp_path, cast, tools=[says("Look")]) as on:
        body = body_of(await ran(on, *scores, join="best", criteria="depth"))
        assert (body["task"], body["result"], body["reason"]) == (2, "all on birch", "rated 9 of 10: so birch")
        assert [(entry["task"], entry["score"]) for entry in entries(body, "others")] == [(1, 4), (3, 9)]
        assert "note" not in body
        assert len(cast.seen(RATER)) == 3
        for request in cast.seen(RATER):
            assert sum(word in prompt_of(request) for word in scores) == 1
            assert "The criteria: depth" in prompt_of(request)
            assert request.tools == ()


@pytest.mark.req("BLT-70")
async def test_results_that_could_not_be_rated_are_named_and_without_a_rating_all_come_back(tmp_path: Path) -> None:
    scores: dict[str, object] = {"amber": 4, "birch": None}
    cast = cast_of({**{word: [{"text": f"all on {word}"}] for word in scores}, RATER: [rated(scores)]})
    async with stage(tmp_path, cast) as on:
        body = body_of(await ran(on, *scores, join="best"))
        assert (body["task"], body["result"]) == (1, "all on amber")
        assert str(body["note"]).startswith("not rated: task 2: ")
        cast.parts[RATER] = [gives_up("gone")]
        body = body_of(await ran(on, *scores, join="best"))
        assert "so all results follow: not rated: task 1: " in str(body["note"])
        assert [entry["result"] for entry in entries(body)] == ["all on amber", "all on birch"]
