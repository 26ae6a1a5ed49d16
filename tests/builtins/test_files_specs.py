"""What the model and the rules see of the file tools."""

import json

import pytest

from hilt.builtins.files import files_tools, read_tools
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.permission import Subject, Subjects
from hilt.core.tool import ToolCall
from hilt.ports.tool import Environment, Subjected
from tests.builtins.files_runs import TOOLS, Files

ROWS: dict[str, dict[str, object]] = {
    "Read": {
        "path": {"type": "string"},
        "offset": {"type": "integer", "default": 1, "minimum": 1},
        "limit": {"type": "integer", "default": 2000, "minimum": 1, "maximum": 2000},
    },
    "ListDir": {"path": {"type": "string", "default": "."}},
    "Glob": {
        "pattern": {"type": "string"},
        "path": {"type": "string", "default": "."},
        "include_ignored": {"type": "boolean", "default": False},
    },
    "Grep": {
        "pattern": {"type": "string"},
        "path": {"type": "string", "default": "."},
        "glob": {"type": "string"},
        "literal": {"type": "boolean", "default": False},
        "ignore_case": {"type": "boolean", "default": False},
        "context": {"type": "integer", "default": 0, "minimum": 0, "maximum": 10},
        "output": {"type": "string", "default": "lines", "enum": ["lines", "files", "count"]},
        "include_ignored": {"type": "boolean", "default": False},
    },
    "Write": {"path": {"type": "string"}, "content": {"type": "string", "maxLength": 2097152}},
    "Edit": {
        "path": {"type": "string"},
        "old_string": {"type": "string"},
        "new_string": {"type": "string"},
        "replace_all": {"type": "boolean", "default": False},
    },
    "Copy": {"source": {"type": "string"}, "destination": {"type": "string"}},
    "Move": {"source": {"type": "string"}, "destination": {"type": "string"}},
    "Remove": {"path": {"type": "string"}},
}
REQUIRED = {
    "Read": ["path"],
    "Glob": ["pattern"],
    "Grep": ["pattern"],
    "Write": ["content", "path"],
    "Edit": ["new_string", "old_string", "path"],
    "Copy": ["destination", "source"],
    "Move": ["destination", "source"],
    "Remove": ["path"],
}


@pytest.mark.req("BLT-07")
@pytest.mark.parametrize("name", ROWS)
def test_each_tool_has_exactly_the_parameters_of_its_row(name: str) -> None:
    schema = TOOLS[name].spec.schema
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert all(node.pop("description") for node in properties.values())
    assert properties == ROWS[name]
    required = schema.get("required", [])
    assert isinstance(required, list)
    assert sorted(required) == REQUIRED.get(name, [])
    assert schema["additionalProperties"] is False


@pytest.mark.req("BLT-04", "BLT-09")
def test_the_categories_have_their_tools() -> None:
    assert [tool.spec.name for tool in files_tools()] == list(ROWS)
    assert [tool.spec.name for tool in read_tools()] == ["Read", "ListDir", "Glob", "Grep"]


@pytest.mark.req("BLT-08")
def test_only_the_reading_tools_are_read_only() -> None:
    assert [tool.spec.name for tool in files_tools() if tool.read_only] == ["Read", "ListDir", "Glob", "Grep"]


@pytest.mark.req("CAT-06")
@pytest.mark.parametrize("name", ROWS)
def test_a_description_says_when_to_use_it_and_when_not(name: str) -> None:
    text = TOOLS[name].spec.description
    sentences = text.replace("\n", " ").split(". ")
    assert len(text) >= 100
    assert any(one.startswith("Use ") for one in sentences)
    assert any(one.startswith("Do not use ") for one in sentences)


SUBJECTS: list[tuple[str, dict[str, object], Subjects]] = [
    (
        name,
        {"path": "a/b", **extra},
        Subjects(unnamed=(Subject(text="a/b", kind="path"),), named={"path": (Subject(text="a/b", kind="path"),)}),
    )
    for name, extra in (
        ("Read", {}),
        ("ListDir", {}),
        ("Write", {"content": ""}),
        ("Edit", {"old_string": "a", "new_string": "b"}),
        ("Remove", {}),
    )
]
SUBJECTS += [
    (
        name,
        {"pattern": "*.py"},
        Subjects(
            unnamed=(Subject(text=".", kind="path"),),
            named={"path": (Subject(text=".", kind="path"),), "pattern": (Subject(text="*.py"),)},
        ),
    )
    for name in ("Glob", "Grep")
]
SUBJECTS += [
    (
        name,
        {"source": "a", "destination": "b"},
        Subjects(
            unnamed=(Subject(text="a", kind="path"), Subject(text="b", kind="path")),
            named={
                "source": (Subject(text="a", kind="path"),),
                "destination": (Subject(text="b", kind="path"),),
            },
        ),
    )
    for name in ("Copy", "Move")
]


@pytest.mark.req("PRM-10")
@pytest.mark.parametrize(("name", "args", "expected"), SUBJECTS, ids=[row[0] for row in SUBJECTS])
def test_each_tool_offers_the_subjects_of_its_row(name: str, args: dict[str, object], expected: Subjects) -> None:
    tool = TOOLS[name]
    assert isinstance(tool, Subjected)
    assert tool.subjects(ToolCall("c", name, json.dumps(args))) == expected


@pytest.mark.parametrize("name", ROWS)
async def test_a_session_without_files_says_so(name: str) -> None:
    args = dict.fromkeys(REQUIRED.get(name, []), "x")
    error = await Files(None).error(name, **args)
    if name == "Edit":
        error = await Files(None).error(name, **(args | {"new_string": "y"}))
    assert error.code is ErrorCode.TOOL_UNAVAILABLE


async def test_without_a_ledger_of_the_host_nothing_counts_as_read() -> None:
    files = Files(None)
    files.env = Environment(workspace=None)
    with pytest.raises(ToolError):
        await files.call("Read", path="x")
