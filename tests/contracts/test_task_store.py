"""What every list of tasks promises."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

import hilt.core.task
from hilt.adapters.inmemory.task import MemoryTasks
from hilt.adapters.task_file import TaskFile
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.task import Links, NewTask, Task, TaskChange
from hilt.ports.task import TaskStore
from hilt.testing import ManualClock

Opened = Callable[[Path, ManualClock], TaskStore]

STORES: dict[str, Opened] = {
    "memory": lambda _, clock: MemoryTasks(clock=clock),
    "file": lambda root, clock: TaskFile(root, clock=clock),
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> TaskStore:
    return STORES[request.param](tmp_path, clock)


async def made(store: TaskStore, subject: str, **links: tuple[str, ...]) -> Task:
    return await store.create(NewTask(subject=subject, links=Links(**links)), session="one")


async def refused(awaiting: object) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await awaiting  # type: ignore[misc]  # a coroutine of the store
    return caught.value


@pytest.mark.req("BLT-51")
async def test_a_new_task_has_every_field(store: TaskStore, clock: ManualClock) -> None:
    task = await store.create(
        NewTask(subject="Paint", description="Twice.", labels=("a", "b", "a"), metadata={"n": 1, "gone": None}),
        session="one",
    )
    assert (len(task.id), task.id[12]) == (32, "7")
    now = clock.now().isoformat()
    assert task == Task(
        id=task.id,
        subject="Paint",
        description="Twice.",
        labels=("a", "b"),
        metadata={"n": 1},
        created_at=now,
        updated_at=now,
        created_by_session="one",
        updated_by_session="one",
    )
    assert (task.status, task.priority, task.owner, task.blocks, task.blocked_by) == ("pending", "medium", "", (), ())
    assert await store.get(task.id) == task


@pytest.mark.req("BLT-50", "BLT-51")
async def test_an_update_changes_what_it_names_and_says_who_and_when(store: TaskStore, clock: ManualClock) -> None:
    task = await store.create(NewTask(subject="Paint", labels=("a",), metadata={"n": 1, "m": 2}), session="one")
    clock.advance(5)
    change = TaskChange(status="in_progress", owner="ann", labels=("b",), metadata={"n": None, "k": [1]})
    after = await store.update(task.id, change, session="two")
    assert after == replace(
        task,
        status="in_progress",
        owner="ann",
        labels=("b",),
        metadata={"m": 2, "k": [1]},
        updated_at=clock.now().isoformat(),
        updated_by_session="two",
    )
    assert await store.get(task.id) == after
    again = await store.update(
        task.id, TaskChange(subject="Sand", description="First.", priority="high"), session="two"
    )
    assert again == replace(after, subject="Sand", description="First.", priority="high")


async def test_tasks_are_listed_oldest_first_by_status_and_any_label(store: TaskStore) -> None:
    assert await store.tasks() == []
    ids = [(await store.create(NewTask(subject=label, labels=(label,)), session="one")).id for label in "abc"]
    await store.update(ids[1], TaskChange(status="completed"), session="one")
    assert [task.id for task in await store.tasks()] == ids
    assert [task.id for task in await store.tasks(status="pending")] == [ids[0], ids[2]]
    assert [task.id for task in await store.tasks(labels=("b", "c", "x"))] == ids[1:]
    assert [task.id for task in await store.tasks(status="pending", labels=("b",))] == []


@pytest.mark.req("BLT-53")
async def test_both_ends_of_a_link_change_together(store: TaskStore) -> None:
    first = await made(store, "first")
    last = await made(store, "last", blocked_by=(first.id,))
    middle = await made(store, "middle", blocks=(last.id,), blocked_by=(first.id,))
    shape = {task.subject: (task.blocks, task.blocked_by) for task in await store.tasks()}
    assert shape == {
        "first": ((last.id, middle.id), ()),
        "last": ((), (first.id, middle.id)),
        "middle": ((last.id,), (first.id,)),
    }
    change = TaskChange(remove=Links(blocks=(last.id,), blocked_by=(first.id,)), add=Links(blocks=(last.id,)))
    assert (await store.update(middle.id, change, session="one")).blocks == (last.id,)
    assert (await store.get(first.id)).blocks == (last.id,)
    assert (await store.get(last.id)).blocked_by == (first.id, middle.id)
    nothing = TaskChange(remove=Links(blocks=(first.id,)))
    assert (await store.update(middle.id, nothing, session="one")).blocks == (last.id,)


@pytest.mark.req("BLT-53")
async def test_unknown_ids_and_cycles_are_refused_and_change_nothing(store: TaskStore) -> None:
    one = await made(store, "one")
    two = await made(store, "two", blocked_by=(one.id,))
    three = await made(store, "three", blocked_by=(two.id,))
    before = await store.tasks()
    cases = {
        "blocks: there is no task 'nope'": made(store, "x", blocks=("nope",)),
        "blocked_by: there is no task 'nope'": made(store, "x", blocked_by=("nope",)),
        "remove_blocks: there is no task 'nope'": store.update(
            one.id, TaskChange(remove=Links(blocks=("nope",))), session=""
        ),
        f"task {three.id!r} would block itself": store.update(
            three.id, TaskChange(add=Links(blocks=(one.id,))), session=""
        ),
        f"task {one.id!r} would block itself": store.update(
            one.id, TaskChange(add=Links(blocked_by=(one.id,))), session=""
        ),
    }
    for text, asked in cases.items():
        error = await refused(asked)
        assert error.code is ErrorCode.INVALID_ARGUMENTS
        assert text in error.reason
    assert await store.tasks() == before


async def test_ways_that_meet_again_are_no_cycle(store: TaskStore) -> None:
    top = await made(store, "top")
    left, right = await made(store, "left", blocked_by=(top.id,)), await made(store, "right", blocked_by=(top.id,))
    end = await made(store, "end", blocked_by=(left.id, right.id))
    await store.update(top.id, TaskChange(add=Links(blocks=(end.id,))), session="one")
    assert (await store.get(end.id)).blocked_by == (left.id, right.id, top.id)


@pytest.mark.req("BLT-54")
async def test_an_unknown_task_is_named(store: TaskStore) -> None:
    for asked in (store.get("nope"), store.update("nope", TaskChange(), session="one")):
        error = await refused(asked)
        assert (error.code, error.reason) == (ErrorCode.EXECUTION_FAILED, "Task not found: nope")


@pytest.mark.req("BLT-55")
async def test_a_full_list_loses_the_completed_task_longest_untouched(
    store: TaskStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hilt.core.task.TASKS_MAX == 10_000
    monkeypatch.setattr(hilt.core.task, "TASKS_MAX", 4)
    tasks = [await made(store, str(number)) for number in range(3)]
    last = await made(store, "3", blocked_by=(tasks[1].id,))
    error = await refused(made(store, "4"))
    assert (error.code, "none is completed" in error.reason) == (ErrorCode.EXECUTION_FAILED, True)
    for number in (1, 0):
        clock.advance(1)
        await store.update(tasks[number].id, TaskChange(status="completed"), session="one")
    await made(store, "4")
    assert [task.subject for task in await store.tasks()] == ["0", "2", "3", "4"]
    assert (await store.get(last.id)).blocked_by == ()


async def test_changes_at_the_same_time_all_survive(store: TaskStore) -> None:
    task = await made(store, "shared")

    async def note(number: int) -> None:
        await store.update(task.id, TaskChange(metadata={str(number): number}), session=str(number))

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(note, number)
    assert (await store.get(task.id)).metadata == {str(number): number for number in range(50)}
