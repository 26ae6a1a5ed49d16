"""Process trees: what they read, how they end, and that nothing of them stays."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hilt.adapters._process import HeadTail, Kept, ProcessTree, run_process, start_process
from tests.adapters.marked import Mark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descendants are found through /proc")

# A plain child, one that ignores TERM, nohup, a session of its own, and a double fork.
AWKWARD = """
sleep 300 &
( trap '' TERM HUP; while :; do sleep 1; done ) &
nohup sleep 300 >/dev/null 2>&1 &
setsid sleep 300 &
( setsid sh -c 'sleep 300 & exit' ) &
echo ready
"""


@pytest.fixture
def mark() -> Iterator[Mark]:
    mark = Mark()
    yield mark
    mark.kill()


async def started(mark: Mark, script: str) -> ProcessTree:
    tree = await start_process(["bash", "-c", script], env=mark.env)
    assert tree.stdout is not None
    assert await tree.stdout.receive() == b"ready\n"
    return tree


async def test_closing_ends_every_descendant_also_the_awkward_ones(mark: Mark) -> None:
    with anyio.fail_after(20):
        tree = await started(mark, AWKWARD + "sleep 300")
        await mark.reach(7)
        await tree.aclose(grace_s=0.3)
    assert mark.alive() == []


async def test_when_the_command_ends_what_it_left_behind_ends_too(mark: Mark) -> None:
    with anyio.fail_after(20):
        done = await run_process(["bash", "-c", AWKWARD], timeout_s=15, env=mark.env)
    assert (done.returncode, done.stdout.content, done.timed_out) == (0, b"ready\n", False)
    assert mark.alive() == []


async def test_a_command_gets_term_and_time_to_finish(mark: Mark) -> None:
    with anyio.fail_after(20):
        tree = await started(mark, "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done")
        tree.end(15)
        assert await tree.wait() == 7
        await tree.aclose()
    assert not tree.running


async def test_a_command_that_ignores_term_is_killed(mark: Mark) -> None:
    with anyio.fail_after(20):
        tree = await started(mark, "trap '' TERM; echo ready; while :; do sleep 0.05; done")
        tree.end(0.1)
        assert await tree.wait() == -signal.SIGKILL
        await tree.aclose()


async def test_closing_first_lets_a_command_end_by_itself(mark: Mark) -> None:
    with anyio.fail_after(20):
        tree = await started(mark, "echo ready; cat >/dev/null; exit 5")
        await tree.aclose(wait_s=15)
    assert tree.returncode == 5


async def test_a_tree_may_be_closed_twice_by_another_task_and_while_cancelled(mark: Mark) -> None:
    with anyio.fail_after(20):
        tree = await started(mark, "echo ready; sleep 300")

        async def close() -> None:
            await tree.aclose(grace_s=1)

        async with anyio.create_task_group() as group:
            group.start_soon(close)
            group.start_soon(close)
            group.cancel_scope.cancel()
        await close()
    assert mark.alive() == []


async def test_several_tasks_may_wait_for_one_end(mark: Mark) -> None:
    codes: list[int | None] = []
    with anyio.fail_after(20):
        tree = await started(mark, "echo ready; read x; exit 3")

        async def wait() -> None:
            codes.append(await tree.wait())

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(wait)
            assert tree.stdin is not None
            await tree.stdin.send(b"go\n")
        await tree.wait_gone()
        await tree.aclose()
    assert codes == [3, 3, 3]


async def test_the_tree_dies_with_the_process_that_started_it(mark: Mark) -> None:
    program = (
        "import anyio\nfrom hilt.adapters._process import start_process\n"
        "async def main():\n"
        "    await start_process(['sh', '-c', 'setsid sleep 300 & sleep 300'])\n"
        "    print('ready', flush=True)\n    await anyio.sleep(300)\n"
        "anyio.run(main)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=mark.env) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"ready\n"
        host.kill()
    with anyio.fail_after(20):
        await mark.end()


async def test_the_command_dies_with_its_supervisor(mark: Mark) -> None:
    # The pause lets the supervisor say that the program runs before it is killed by it.
    script = "sleep 1; kill -9 $PPID; sleep 300"
    with anyio.fail_after(20):
        done = await run_process(["bash", "-c", script], timeout_s=15, env=mark.env)
    assert (done.returncode, done.timed_out) == (None, False)
    with anyio.fail_after(20):
        await mark.end()


async def test_a_pipe_held_from_outside_the_tree_holds_nothing_up(mark: Mark) -> None:
    # The pause is for the reason above.
    script = "setsid sleep 300 & echo out; sleep 1; kill -9 $PPID"
    with anyio.fail_after(20):
        done = await run_process(["bash", "-c", script], timeout_s=15, env=mark.env)
    assert done.stdout.content == b"out\n"


@pytest.mark.parametrize(
    ("argv", "cwd", "error"),
    [
        (["no such program"], None, FileNotFoundError),
        (["/etc/passwd"], None, PermissionError),
        (["true"], "/no such folder", FileNotFoundError),
        ([sys.executable, "x" * 200_000], None, OSError),
    ],
)
async def test_what_cannot_be_started_raises_and_leaves_nothing(
    argv: list[str], cwd: str | None, error: type[OSError], mark: Mark
) -> None:
    open_before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(error):
        await start_process(argv, cwd=cwd, env=mark.env)
    assert mark.alive() == []
    assert len(os.listdir("/proc/self/fd")) == open_before


async def test_a_start_whose_supervisor_is_killed_raises(mark: Mark, tmp_path: Path) -> None:
    """An interpreter that ends at once stands for one that is killed before it starts the program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(ChildProcessError):
            await start_process(["true"], cwd=tmp_path, env=mark.env)


async def test_streams_carry_bytes_both_ways(mark: Mark) -> None:
    block = bytes(range(256)) * 8192
    with anyio.fail_after(20):
        tree = await start_process(["cat"], env=mark.env)
        assert tree.stdin is not None
        assert tree.stdout is not None
        heard = bytearray()

        async def send() -> None:
            assert tree.stdin is not None
            await tree.stdin.send(block)
            await tree.stdin.aclose()

        async with anyio.create_task_group() as group:
            group.start_soon(send)
            async for chunk in tree.stdout:
                heard += chunk
        assert heard == block
        await tree.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await tree.stdin.send(b"x")
        with pytest.raises(anyio.ClosedResourceError):
            await tree.stdout.receive()


async def test_a_stream_closed_by_another_task_wakes_its_receiver(mark: Mark) -> None:
    with anyio.fail_after(20):
        tree = await start_process(["sleep", "300"], env=mark.env, streams=("null", "pipe", "null"))
        assert (tree.stdin, tree.stderr) == (None, None)
        assert tree.stdout is not None
        async with anyio.create_task_group() as group:
            group.start_soon(tree.stdout.aclose)
            with pytest.raises(anyio.ClosedResourceError):
                await tree.stdout.receive()
        await tree.aclose()


async def test_writing_to_a_command_that_reads_no_more_is_an_error(mark: Mark) -> None:
    with anyio.fail_after(20):
        tree = await started(mark, "exec 0<&-; echo ready; sleep 300")
        assert tree.stdin is not None
        with pytest.raises(anyio.BrokenResourceError):
            await tree.stdin.send(b"x" * 1_000_000)
        await tree.aclose()


async def test_input_that_nobody_reads_does_not_hang(mark: Mark) -> None:
    with anyio.fail_after(20):
        done = await run_process(["true"], timeout_s=15, env=mark.env, stdin=b"x" * 1_000_000)
    assert done.returncode == 0


async def test_output_over_the_limit_keeps_its_head_and_its_tail(mark: Mark) -> None:
    script = "printf start; head -c 3000000 /dev/zero; printf finish"
    with anyio.fail_after(20):
        done = await run_process(["bash", "-c", script], timeout_s=15, env=mark.env, keep_bytes=(1000, 10))
    assert len(done.stdout.content) == 1000
    assert done.stdout.content.startswith(b"start\0")
    assert done.stdout.content.endswith(b"\0finish")
    assert done.stdout.dropped == 3_000_011 - 1000


async def test_at_the_deadline_the_output_so_far_is_kept(mark: Mark) -> None:
    with anyio.fail_after(20):
        done = await run_process(["bash", "-c", "echo some; sleep 300"], timeout_s=0.5, env=mark.env)
    assert (done.timed_out, done.stdout.content) == (True, b"some\n")
    assert mark.alive() == []


async def test_cancelling_the_caller_ends_the_tree(mark: Mark) -> None:
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def run() -> None:
                script = "trap '' TERM; setsid sleep 300 & while :; do sleep 0.1; done"
                await run_process(["bash", "-c", script], timeout_s=300, env=mark.env)

            group.start_soon(run)
            await mark.reach(4)
            group.cancel_scope.cancel()
    assert mark.alive() == []


async def test_the_event_loop_goes_on_while_a_command_floods(mark: Mark) -> None:
    turns = 0
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def run() -> None:
                await run_process(["yes"], timeout_s=300, env=mark.env)

            group.start_soon(run)
            while turns < 200:
                await anyio.sleep(0)
                turns += 1
            group.cancel_scope.cancel()
    assert mark.alive() == []


def test_head_and_tail_of_any_chunks_are_the_same() -> None:
    stream = bytes(range(256)) * 40
    for size in (1, 7, 64, 5000, len(stream)):
        kept = HeadTail(100)
        for start in range(0, len(stream), size):
            kept.add(stream[start : start + size])
        assert kept.kept() == Kept(content=stream[:50] + stream[-50:], dropped=len(stream) - 100)


def test_a_stream_within_the_limit_is_kept_whole() -> None:
    kept = HeadTail(100)
    kept.add(b"x" * 60)
    kept.add(b"y" * 40)
    assert kept.kept() == Kept(content=b"x" * 60 + b"y" * 40)
