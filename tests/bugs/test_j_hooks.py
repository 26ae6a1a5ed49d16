"""Kind j, hooks: exit codes alone, hangs, crashes, half answers, rewrites."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hilt.adapters.hook_command import CommandHook
from hilt.core.errors import HookFailedError
from hilt.core.hook import HookEvent, HookInput
from tests.adapters.marked import Mark

HOOKS = Path(__file__).parent / "inputs" / "hooks"
INPUT = HookInput(
    event=HookEvent.PRE_TOOL_USE, session_id="s", tool_name="shell", tool_input={"command": "touch ran.txt"}
)


@pytest.fixture
def mark() -> Iterator[Mark]:
    mark = Mark()
    yield mark
    mark.kill()


def hook(script: str, mark: Mark, timeout_s: float = 20) -> CommandHook:
    command = f"'{HOOKS / script}'"
    return CommandHook(name=script, event=HookEvent.PRE_TOOL_USE, command=command, env=mark.env, timeout_s=timeout_s)


@pytest.mark.req("HOK-12")
async def test_j2_exit_two_blocks_without_a_word(mark: Mark) -> None:
    answer = await hook("j2_exit2_silent.sh", mark).run(INPUT)
    assert answer.block
    assert answer.reason == "exit code 2, without a word"


@pytest.mark.req("HOK-12", "HOK-15", "HOK-18")
@pytest.mark.parametrize("script", ["j3_hang.sh", "j3_crash.sh", "j3_garbage.sh", "j3_is_not_there.sh"])
async def test_j3_a_hook_that_hangs_dies_or_talks_nonsense_has_failed(script: str, mark: Mark) -> None:
    with anyio.fail_after(8):
        with pytest.raises(HookFailedError):
            await hook(script, mark, timeout_s=2 if script == "j3_hang.sh" else 20).run(INPUT)
    assert mark.alive() == []


@pytest.mark.req("HOK-12")
async def test_j4_a_rewrite_is_taken_as_it_is_for_the_rules_to_see(mark: Mark) -> None:
    rewrite = await hook("j4_rewrite.sh", mark).run(INPUT)
    assert (rewrite.permission, rewrite.updated_input) == ("allow", {"command": "rm victim.txt"})
    wrap = await hook("j4_wrap.sh", mark).run(INPUT)
    assert (wrap.permission, wrap.updated_input) == ("", {"command": "nice -n 5 rm victim.txt"})
