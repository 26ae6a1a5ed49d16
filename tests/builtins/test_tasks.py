"""The tools of the category tasks: their rows, and what a model and two sessions see."""

import json
from pathlib import Path

import pytest

from hilt.builtins.tasks import tasks_tools
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.tool import ToolCall
from hilt.ports.tool import Environment, Tool
from tests.app.house import house, names
from tests.flows.kit import call

TEXTS = {"type": "array", "items": {"type": "string"}}
STATUS = {"type": "string", "enum": ["pending", "in_progress", "completed"]}
PRIORITY = {"type": "string", "enum": ["low", "medium", "high"]}
SUBJECT = {"type": "string", "minLength": 1, "maxLength": 500}
DESCRIPTION = {"type": "string", "maxLength": 20_000}
TEXT = {"type": "string"}
OBJECT = {"type": "object", "additionalProperties": True}
ROWS: dict[str, dict[str, object]] = {
    "task_create": {
        "subject": SUBJECT,
        "description": DESCRIPTION,
        "priority": {**PRIORITY, "default": "medium"},
        "labels": TEXTS,
        "blocks": TEXTS,
        "blocked_by": TEXTS,
        "owner": TEXT,
        "metadata": OBJECT,
    },
    "task_list": {"status": STATUS, "labels": TEXTS},
    "task_get": {"id": TEXT},
    "task_update": {
        "id": TEXT,
        "subject": SUBJECT,
        "description": DESCRIPTION,
        "status": STATUS,
        "priority": PRIORITY,
        "owner": TEXT,
        "labels": TEXTS,
        "metadata": OBJECT,
        **dict.fromkeys(("add_blocks", "remove_blocks", "add_blocked_by", "remove_blocked_by"), TEXTS),
    },
}
REQUIRED = {"task_create": ["subject"], "task_get": ["id"], "task_update": ["id"]}
TOOLS = {tool.spec.name: tool for tool in tasks_tools()}


def body(content: str) -> dict[str, object]:
    value: dict[str, object] = json.loads(content)
    return value


def subjects(content: str) -> list[str]:
    return [task["subject"] for task in json.loads(content)]


@pytest.mark.req("BLT-07", "BLT-08")
@pytest.mark.parametrize("name", ROWS)
def test_a_tool_is_its_row(name: str) -> None:
    tool = TOOLS[name]
    assert isinstance(tool, Tool)
    assert tool.read_only is (name in ("task_list", "task_get"))
    schema = dict(tool.spec.schema)
    properties = schema.pop("properties")
    assert isinstance(properties, dict)
    assert all(node.pop("description") for node in properties.values())
    assert properties == ROWS[name]
    required = {"required": REQUIRED[name]} if name in REQUIRED else {}
    assert schema == {"type": "object", "additionalProperties": False, **required}


@pytest.mark.parametrize("name", ROWS)
def test_a_description_says_when_to_use_it_and_when_not(name: str) -> None:
    text = TOOLS[name].spec.description
    assert len(text) >= 100
    assert "Use it " in text
    assert "Do not use it " in text


async def test_a_session_without_a_list_says_so() -> None:
    with pytest.raises(ToolError, match="no list of tasks") as caught:
        await TOOLS["task_list"].execute(ToolCall("c1", "task_list"), Environment())
    assert caught.value.code is ErrorCode.TOOL_UNAVAILABLE


@pytest.mark.req("BLT-09", "BLT-50", "BLT-51", "BLT-52")
async def test_later_calls_sessions_and_applications_see_what_was_done(tmp_path: Path) -> None:
    async with house(tmp_path, enable_builtins=True) as home:
        one, two = await home.app.sessions.create(id="one"), await home.app.sessions.create(id="two")
        assert set(names(one)) == {*ROWS, "ReadResult"}
        (made,) = await home.turn(one, call("task_create", {"subject": "Paint", "priority": "high", "labels": ["a"]}))
        task = body(made.content)
        assert set(task) == {
            *("id", "subject", "description", "status", "priority", "labels", "blocks", "blocked_by", "owner"),
            *("metadata", "created_at", "updated_at", "created_by_session", "updated_by_session"),
        }
        assert (task["status"], task["created_by_session"]) == ("pending", "one")
        change = {"id": task["id"], "status": "completed", "metadata": {"by": "ann"}}
        updated, got = await home.turn(two, call("task_update", change), call("task_get", {"id": task["id"]}))
        assert body(got.content) == body(updated.content)
        assert body(got.content)["updated_by_session"] == "two"
    async with house(tmp_path, enable={"tasks"}) as home:
        later = await home.app.sessions.create()
        (listed,) = await home.turn(later, call("task_list", {"status": "completed", "labels": ["a", "b"]}))
        assert json.loads(listed.content) == [body(got.content)]


@pytest.mark.req("BLT-52")
async def test_a_session_without_files_has_a_list_of_its_own(tmp_path: Path) -> None:
    async with house(tmp_path, enable={"tasks"}) as home:
        bare = [await home.app.sessions.create(profile="no-fs") for _ in range(2)]
        files = await home.app.sessions.create()
        assert set(names(bare[0])) >= set(ROWS)
        for session in bare:
            await home.turn(session, call("task_create", {"subject": str(session.id)}))
        shown = [(await home.turn(session, call("task_list")))[0].content for session in (*bare, files)]
        assert [subjects(content) for content in shown] == [[bare[0].id], [bare[1].id], []]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("BLT-53", "BLT-54")
async def test_what_cannot_be_is_an_error_that_says_what_can(tmp_path: Path) -> None:
    async with house(tmp_path, enable={"tasks"}) as home:
        session = await home.app.sessions.create()
        (made,) = await home.turn(session, call("task_create", {"subject": "x"}))
        id_ = body(made.content)["id"]
        unknown, *wrong = await home.turn(
            session,
            call("task_get", {"id": "nope"}),
            call("task_update", {"id": id_, "status": "done"}),
            call("task_create", {"subject": "y", "priority": "urgent"}),
            call("task_update", {"id": id_, "add_blocks": [id_]}),
            call("task_create", {"subject": "y", "blocked_by": ["nope"]}),
            call("task_create", {"subject": ""}),
            call("task_list", {"status": "open"}),
        )
        (listed,) = await home.turn(session, call("task_list"))
    assert body(unknown.content) == {
        "error": "execution_failed",
        "message": "Tool execution failed: Task not found: nope",
    }
    assert [body(result.content)["error"] for result in wrong] == ["invalid_arguments"] * 6
    for result in (wrong[0], wrong[5]):
        assert all(status in result.content for status in ("pending", "in_progress", "completed"))
    assert all(priority in wrong[1].content for priority in ("low", "medium", "high"))
    assert "would block itself" in wrong[2].content
    assert "no task 'nope'" in wrong[3].content
    assert subjects(listed.content) == ["x"]
