"""Command hooks: exit codes, text around the answer, streams, ends."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hilt.adapters.hook_command import CommandHook
from hilt.core.errors import HookFailedError
from hilt.core.hook import NO_ANSWER, HookAnswer, HookEvent, HookInput
from tests.adapters.marked import Mark

PRE, POST = HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE
TAKES_TEXT = (HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT)


@pytest.fixture
def mark() -> Iterator[Mark]:
    mark = Mark()
    yield mark
    mark.kill()


async def run(command: str, event: HookEvent = PRE, mark: Mark | None = None, limit_s: float = 20) -> HookAnswer:
    env = None if mark is None else mark.env
    hook = CommandHook(name="h", event=event, command=command, env=env, timeout_s=limit_s)
    with anyio.fail_after(25):
        return await hook.run(HookInput(event=event, session_id="s", tool_input={"text": "x" * 300_000}))


@pytest.mark.req("HOK-12")
async def test_exit_zero_without_a_word_allows() -> None:
    assert await run("exit 0") == NO_ANSWER


@pytest.mark.req("HOK-12")
@pytest.mark.parametrize("event", HookEvent)
async def test_exit_two_blocks_with_what_is_on_stderr(event: HookEvent) -> None:
    answer = await run("echo '{}'; echo ' not now ' >&2; exit 2", event)
    assert answer == HookAnswer(block=True, reason="not now")


@pytest.mark.req("HOK-12")
@pytest.mark.parametrize(
    "command", ["exit 1", "exit 3", "exit 127", "kill -9 $$", "kill -9 $PPID; sleep 20", "/nope/hook.sh"]
)
async def test_any_other_end_has_failed(command: str, mark: Mark) -> None:
    with pytest.raises(HookFailedError):
        await run(command, mark=mark)


@pytest.mark.req("HOK-12")
async def test_the_command_runs_in_the_workspace(tmp_path: Path) -> None:
    hook = CommandHook(name="h", event=PRE, command="pwd > here", cwd=str(tmp_path))
    await hook.run(HookInput(event=PRE, session_id="s"))
    assert (tmp_path / "here").read_text().strip() == os.path.realpath(tmp_path)


async def test_a_folder_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    hook = CommandHook(name="h", event=PRE, command="true", cwd=str(tmp_path / "nope"))
    with pytest.raises(HookFailedError, match="cannot be started: No such file"):
        await hook.run(HookInput(event=PRE, session_id="s"))


@pytest.mark.req("HOK-12")
@pytest.mark.parametrize("event", TAKES_TEXT)
async def test_text_is_context_where_context_is_taken(event: HookEvent) -> None:
    assert await run("echo one; echo ' two '", event) == HookAnswer(additional_context="one\n two")


@pytest.mark.req("HOK-12")
@pytest.mark.parametrize("event", TAKES_TEXT)
async def test_text_before_the_answer_comes_before_its_own_context(event: HookEvent) -> None:
    script = (
        'echo starting; printf \'{"hookSpecificOutput":\\n'
        f'{{"hookEventName":"{event}","additionalContext":"more"}}}}\''
    )
    assert await run(script, event) == HookAnswer(additional_context="starting\nmore")


@pytest.mark.req("HOK-12")
@pytest.mark.parametrize("event", [PRE, POST, HookEvent.STOP, HookEvent.SUBAGENT_STOP])
async def test_text_is_a_log_line_elsewhere(event: HookEvent, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="hilt"):
        assert await run('echo some text; echo \'{"reason": "r"}\'', event) == HookAnswer(reason="r")
    assert caplog.messages == ["hook_message hook=h text=some text"]


@pytest.mark.req("HOK-12", "HOK-18")
@pytest.mark.parametrize(
    "stdout",
    [
        '{"decision": "block"',
        'text\\n{"decision": "block"}\\ntrailing',
        '  {"decision": "block"',
        "{}\\n{}",
        '{"reason": "\\377\\n',
    ],
)
async def test_from_the_brace_on_it_must_be_one_object(stdout: str) -> None:
    with pytest.raises(HookFailedError, match="not one valid JSON object"):
        await run(f"printf '{stdout}'")


@pytest.mark.req("HOK-18")
async def test_an_indented_answer_counts_as_one() -> None:
    assert await run('printf \'  {"decision": "block"}\\n\'') == HookAnswer(block=True)


@pytest.mark.req("HOK-16")
async def test_a_hook_that_reads_nothing_does_not_hang() -> None:
    assert await run("exec 0<&-; exit 0") == NO_ANSWER


@pytest.mark.req("HOK-16", "HOK-18")
async def test_a_hook_that_writes_more_than_a_mebibyte_has_failed_without_hanging() -> None:
    with pytest.raises(HookFailedError, match="more than 1048576 bytes"):
        await run("head -c 3000000 /dev/zero")


@pytest.mark.req("HOK-16")
async def test_standard_error_is_capped() -> None:
    answer = await run("head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 2")
    assert answer.block
    assert len(answer.reason) == 64 * 1024


@pytest.mark.req("HOK-15")
async def test_at_the_deadline_the_command_is_killed_with_all_its_children(mark: Mark) -> None:
    with pytest.raises(HookFailedError, match="deadline"):
        await run("sleep 300 & setsid sleep 300 & sleep 300", mark=mark, limit_s=0.3)
    assert mark.alive() == []


@pytest.mark.req("HOK-15")
async def test_a_cancelled_hook_is_killed_with_all_its_children(mark: Mark) -> None:
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run, "setsid sleep 300 & sleep 300", PRE, mark)
            await mark.reach(4)
            group.cancel_scope.cancel()
    assert mark.alive() == []
