"""Python hooks: plain and async callables, the decorator, crashes."""

import threading
from collections.abc import Mapping

import anyio
import pytest

from hilt.core.errors import HookFailedError
from hilt.core.hook import NO_ANSWER, HookAnswer, HookEvent, HookInput
from hilt.engine.function_hook import FunctionHook, hook

PRE = HookEvent.PRE_TOOL_USE
INPUT = HookInput(event=PRE, session_id="s")


@pytest.mark.req("HOK-11")
async def test_a_plain_callable_runs_in_a_worker_thread_and_an_async_one_does_not() -> None:
    threads: list[int] = []

    @hook(PRE)
    def plain(_: HookInput) -> None:
        threads.append(threading.get_ident())

    @hook(PRE)
    async def async_(_: HookInput) -> None:
        threads.append(threading.get_ident())

    await plain.run(INPUT)
    await async_.run(INPUT)
    assert threads[0] != threading.get_ident() == threads[1]


@pytest.mark.req("HOK-11")
async def test_objects_and_functions_that_return_awaitables_are_hooks_too() -> None:
    class Async:
        async def __call__(self, _: HookInput) -> HookAnswer:
            return HookAnswer(reason="a")

    class Plain:
        def __call__(self, _: HookInput) -> HookAnswer:
            return HookAnswer(reason="b")

    async def later() -> HookAnswer:
        return HookAnswer(reason="c")

    found = [hook(PRE)(one) for one in (Async(), Plain(), lambda _: later())]
    assert [(await one.run(INPUT)).reason for one in found] == ["a", "b", "c"]
    assert [one.name for one in found] == ["Async", "Plain", "<lambda>"]


@pytest.mark.req("HOK-11")
async def test_a_plain_hook_that_blocks_holds_nobody_else_up() -> None:
    release = threading.Event()

    @hook(PRE)
    def slow(_: HookInput) -> None:
        release.wait()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(slow.run, INPUT)
            await anyio.sleep(0.01)
            release.set()


async def test_none_is_no_answer_and_a_mapping_reads_as_json() -> None:
    def said(answer: HookAnswer | Mapping[str, object] | None) -> FunctionHook:
        return FunctionHook(name="h", event=PRE, function=lambda _: answer)

    assert await said(None).run(INPUT) == NO_ANSWER
    assert await said({"decision": "block"}).run(INPUT) == HookAnswer(block=True)


@pytest.mark.req("HOK-18")
async def test_any_other_value_has_failed() -> None:
    bad = FunctionHook(name="h", event=PRE, function=lambda _: "deny")  # type: ignore[arg-type,return-value]  # a mistake
    with pytest.raises(HookFailedError, match="returned str"):
        await bad.run(INPUT)


@pytest.mark.parametrize("error", [ValueError("secret"), SystemExit(3), HookFailedError("own words")])
async def test_a_hook_that_raises_has_failed(error: BaseException) -> None:
    def crash(_: HookInput) -> None:
        raise error

    with pytest.raises(HookFailedError) as caught:
        await FunctionHook(name="h", event=PRE, function=crash).run(INPUT)
    assert "secret" not in str(caught.value)


def test_the_decorator_takes_every_option_and_leaves_a_callable() -> None:
    @hook("Stop", match="shell", timeout_s=5, on_failure="allow", name="mine")
    def function(hook_input: HookInput) -> HookAnswer:
        return HookAnswer(reason=hook_input.session_id)

    assert (function.name, function.event, function.match) == ("mine", HookEvent.STOP, ("shell",))
    assert (function.timeout_s, function.on_failure) == (5, "allow")
    assert function(INPUT) == HookAnswer(reason="s")
    assert hook(PRE, match=["a", "b"])(function).match == ("a", "b")


def test_an_unknown_event_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="Nope"):
        hook("Nope")
