"""A list of tasks and what may be done with it: create, change, link, and give way when it is full."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from hilt.core.errors import ToolError

TASKS_MAX: Final = 10_000

Status = Literal["pending", "in_progress", "completed"]
Priority = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task. `blocks` and `blocked_by` hold ids of the same list; times are ISO 8601 in UTC."""

    id: str
    subject: str
    description: str = ""
    status: Status = "pending"
    priority: Priority = "medium"
    labels: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    owner: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)
    created_at: str
    updated_at: str
    created_by_session: str
    updated_by_session: str

    def to_json(self) -> dict[str, object]:
        """Return the task as a JSON object."""
        return {
            "id": self.id,
            "subject": self.subject,
            "description": self.description,
            "status": self.status,
            "priority": self.priority,
            "labels": list(self.labels),
            "blocks": list(self.blocks),
            "blocked_by": list(self.blocked_by),
            "owner": self.owner,
            "metadata": dict(self.metadata),
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "created_by_session": self.created_by_session,
            "updated_by_session": self.updated_by_session,
        }


Book = Mapping[str, Task]
"""The tasks of one list by id, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """Who changes a list, and when: a session and an ISO 8601 time."""

    session: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Ids of tasks that a task blocks, and that block it."""

    blocks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """What is asked of a new task."""

    subject: str
    description: str = ""
    priority: Priority = "medium"
    labels: tuple[str, ...] = ()
    links: Links = field(default_factory=Links)
    owner: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """What is to change in a task: None and nothing leave as it was; a null in `metadata` takes its key away."""

    subject: str | None = None
    description: str | None = None
    status: Status | None = None
    priority: Priority | None = None
    owner: str | None = None
    labels: tuple[str, ...] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    add: Links = field(default_factory=Links)
    remove: Links = field(default_factory=Links)


def found(book: Book, id_: str) -> Task:
    """Return the task of an id.

    Raises:
        ToolError: There is none.
    """
    task = book.get(id_)
    if task is None:
        raise ToolError.execution_failed(f"Task not found: {id_}")
    return task


def added(book: Book, id_: str, new: NewTask, touch: Touch) -> dict[str, Task]:
    """Return the list with a new task at its end; where it is full, the completed one longest untouched is gone.

    Raises:
        ToolError: A link goes to no task or makes a cycle, or the list is full of open tasks.
    """
    out = dict(book)
    out[id_] = Task(
        id=id_,
        subject=new.subject,
        description=new.description,
        priority=new.priority,
        labels=_once(new.labels),
        owner=new.owner,
        metadata=_merged({}, new.metadata),
        created_at=touch.at,
        updated_at=touch.at,
        created_by_session=touch.session,
        updated_by_session=touch.session,
    )
    _link(out, id_, new.links, touch)
    while len(out) > TASKS_MAX:
        _drop_one(out)
    return out


def changed(book: Book, id_: str, change: TaskChange, touch: Touch) -> dict[str, Task]:
    """Return the list with one task changed, and the tasks whose links change with it; links go before they come.

    Raises:
        ToolError: There is no such task, or a link goes to no task or makes a cycle.
    """
    task = found(book, id_)
    out = dict(book)
    out[id_] = replace(
        task,
        subject=_kept(change.subject, task.subject),
        description=_kept(change.description, task.description),
        status=task.status if change.status is None else change.status,
        priority=task.priority if change.priority is None else change.priority,
        owner=_kept(change.owner, task.owner),
        labels=task.labels if change.labels is None else _once(change.labels),
        metadata=_merged(task.metadata, change.metadata),
        updated_at=touch.at,
        updated_by_session=touch.session,
    )
    _unlink(out, id_, change.remove, touch)
    _link(out, id_, change.add, touch)
    return out


def chosen(book: Book, *, status: Status | None = None, labels: Sequence[str] = ()) -> list[Task]:
    """Return the tasks of a status that have any of the labels, oldest first; nothing given chooses all."""
    wanted = set(labels)
    return [
        task
        for task in book.values()
        if (status is None or task.status == status) and (not wanted or not wanted.isdisjoint(task.labels))
    ]


def _kept(value: str | None, before: str) -> str:
    return before if value is None else value


def _once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _merged(before: Mapping[str, object], more: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in {**before, **more}.items() if value is not None or key not in more}


def _check(book: Book, name: str, ids: Iterable[str]) -> None:
    for id_ in ids:
        if id_ not in book:
            raise ToolError.invalid_arguments(f"{name}: there is no task {id_!r}; task_list shows the ids")


def _link(book: dict[str, Task], id_: str, links: Links, touch: Touch) -> None:
    _check(book, "blocks", links.blocks)
    _check(book, "blocked_by", links.blocked_by)
    pairs = [(id_, other) for other in links.blocks] + [(other, id_) for other in links.blocked_by]
    for first, then in pairs:
        book[first] = _touched(book[first], touch, blocks=_once((*book[first].blocks, then)))
        book[then] = _touched(book[then], touch, blocked_by=_once((*book[then].blocked_by, first)))
    if pairs and _leads_to_itself(book, id_):
        raise ToolError.invalid_arguments(f"blocks, blocked_by: task {id_!r} would block itself, by way of others")


def _unlink(book: dict[str, Task], id_: str, links: Links, touch: Touch) -> None:
    _check(book, "remove_blocks", links.blocks)
    _check(book, "remove_blocked_by", links.blocked_by)
    pairs = [(id_, other) for other in links.blocks] + [(other, id_) for other in links.blocked_by]
    for first, then in pairs:
        if then in book[first].blocks:
            book[first] = _touched(book[first], touch, blocks=_without(book[first].blocks, then))
            book[then] = _touched(book[then], touch, blocked_by=_without(book[then].blocked_by, first))


def _touched(
    task: Task, touch: Touch, *, blocks: tuple[str, ...] | None = None, blocked_by: tuple[str, ...] | None = None
) -> Task:
    return replace(
        task,
        blocks=task.blocks if blocks is None else blocks,
        blocked_by=task.blocked_by if blocked_by is None else blocked_by,
        updated_at=touch.at,
        updated_by_session=touch.session,
    )


def _without(ids: Iterable[str], gone: str) -> tuple[str, ...]:
    return tuple(id_ for id_ in ids if id_ != gone)


def _leads_to_itself(book: Book, id_: str) -> bool:
    seen: set[str] = set()
    ahead = list(book[id_].blocks)
    while ahead:
        at = ahead.pop()
        if at == id_:
            return True
        if at not in seen and at in book:
            seen.add(at)
            ahead += book[at].blocks
    return False


def _drop_one(book: dict[str, Task]) -> None:
    completed = [task for task in book.values() if task.status == "completed"]
    if not completed:
        raise ToolError.execution_failed(
            f"there are {TASKS_MAX} tasks and none is completed; complete some with task_update"
        )
    gone = min(completed, key=lambda task: task.updated_at)
    del book[gone.id]
    for other in {*gone.blocks, *gone.blocked_by} & book.keys():
        task = book[other]
        book[other] = replace(
            task, blocks=_without(task.blocks, gone.id), blocked_by=_without(task.blocked_by, gone.id)
        )
