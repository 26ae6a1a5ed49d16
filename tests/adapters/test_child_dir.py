"""Definitions of child agents in a directory: what a file says, and what is told of one that cannot be read."""

import os
from pathlib import Path

import pytest

from hilt.adapters.child_dir import read_definitions
from hilt.core.child_definition import DEFINITION_MAX_BYTES, ChildDefinition, listed

CRITIC = "---\ndescription: Reads and objects.\ntools: [Read, Grep]\nmodel: openai/x\n---\n\nObject to it.\n"


def test_a_file_is_a_definition_with_its_body_as_the_system_prompt(tmp_path: Path) -> None:
    (tmp_path / "critic.md").write_text(CRITIC)
    (tmp_path / "plain.md").write_text("\ufeff---\r\ndescription: Does what it is told.\r\n---\r\n")
    (tmp_path / "texts.md").write_text("---\ndescription: x\ntools: Read, mcp__*\n---\n")
    (tmp_path / "none.md").write_text("---\ndescription: x\ntools: []\n---\n")
    (tmp_path / "no name.md").write_text(CRITIC)
    (tmp_path / "notes.txt").write_text(CRITIC)
    (tmp_path / "folder.md").mkdir()
    assert read_definitions(tmp_path, label="a") == {
        "critic": ChildDefinition(
            name="critic",
            description="Reads and objects.",
            tools=("Read", "Grep"),
            model="openai/x",
            system_prompt="Object to it.",
        ),
        "none": ChildDefinition(name="none", description="x", tools=()),
        "plain": ChildDefinition(name="plain", description="Does what it is told."),
        "texts": ChildDefinition(name="texts", description="x", tools=("Read", "mcp__*")),
    }


def test_a_bad_file_is_left_out_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    front = {
        "dumb": "description: ",
        "extra": "description: x\ncolour: red",
        "nested": "description: x\ntools:\n  - [Read]",
        "pair": "description: x\nmodel:\n  a: b",
        "yaml": "a: b: c",
    }
    for name, text in front.items():
        (tmp_path / f"{name}.md").write_text(f"---\n{text}\n---\nx")
    (tmp_path / "binary.md").write_bytes(b"\xff")
    (tmp_path / "huge.md").write_bytes(b"x" * (DEFINITION_MAX_BYTES + 1))
    (tmp_path / "locked.md").symlink_to("/proc/self/mem")
    os.mkfifo(tmp_path / "pipe.md")
    assert read_definitions(tmp_path, label="a") == {}
    told = [record.getMessage().removeprefix("agent_definition_left_out file=a/") for record in caplog.records]
    assert told[0] == "binary.md why=it is not UTF-8 text"
    assert told[1].startswith("dumb.md why=line 1: description is missing")
    assert told[2] == "extra.md why=line 3: unknown key 'colour'; known are description, tools, model"
    assert told[3] == f"huge.md why=it is over {DEFINITION_MAX_BYTES} bytes"
    assert told[4].startswith("locked.md why=")
    assert told[5] == "nested.md why=line 3: tools is a list of names"
    assert told[6] == "pair.md why=line 3: model is a text"
    assert told[7].startswith("yaml.md why=line 2: not valid YAML")
    assert len(told) == 8


def test_a_tools_description_lists_at_most_fifty() -> None:
    many = [ChildDefinition(name=f"a{number:02}", description="x y\nz" * 90) for number in range(52)]
    text = listed(many)
    assert text.startswith(" Agents that are defined here: a00 (x y zx y z")
    assert text.endswith("…) and 2 more.")
    assert max(map(len, text.split("; "))) < 260
    assert listed([]) == ""
