"""Agents that a project or its user defines: who may hand tasks to them, and what they narrow."""

import os
from pathlib import Path

import pytest

from hilt.app.flags import Flags
from tests.app.house import house, names
from tests.app.places import Machine
from tests.flows.children_kit import Cast, stage, subagent
from tests.flows.kit import allow, call, deny, says

CRITIC = "---\ndescription: Reads and objects.\ntools: Look, Peek\n---\nObject to it.\n"


def define(folder: Path, name: str, text: str = CRITIC) -> None:
    """Write a definition."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text)


@pytest.mark.req("PRM-34", "CAT-70", "BLT-63", "PRM-10")
async def test_a_defined_agent_has_its_prompt_and_of_its_parents_tools_those_that_it_names(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    define(machine.root / ".hilt" / "agents", "critic")
    script = tmp_path / "other.jsonl"
    script.write_text('{"text": "scripted"}\n')
    define(machine.user_dir / "agents", "other", f"---\ndescription: d\nmodel: scripted:{script}\n---\n")
    cast = Cast(child=[{"text": "x"}])
    tools = [says("Look"), says("Change", read_only=False), says("Third")]
    rules = [*allow("*"), *deny("Subagent(agent=other)")]
    config = machine.load(Flags(trust_project=True, tools="delegation"))
    async with stage(machine.root, cast, tools=tools, rules=rules, config=config, enable=()) as on:
        spec = next(spec for spec in on.session.specs() if spec.name == "Subagent")
        assert spec.description.endswith(" Agents that are defined here: critic (Reads and objects.); other (d).")
        (result,) = await on.play({"calls": [subagent("child", agent="critic")]})
        assert result.content.startswith("x\n")
        (request,) = cast.seen("child")
        assert (request.system, [spec.name for spec in request.tools]) == ("Object to it.", ["Look"])
        assert on.notices("child_started")[0].startswith("critic-1 (agent_")
        narrow, lacks, unknown, denied = await on.play(
            {
                "calls": [
                    subagent("child", agent="critic", tools=["Look"]),
                    subagent("child", agent="critic", tools=["Third"]),
                    subagent("child", agent="nobody"),
                    subagent("child", agent="other"),
                ]
            }
        )
        assert not narrow.is_error
        assert "'Third' is not among the tools" in lacks.content
        assert "no agent is named 'nobody'; known are critic, other" in unknown.content
        assert "the rule 'Subagent(agent=other)'" in denied.content
    async with stage(machine.root, cast, config=config, enable=(), rules=allow("*")) as on:
        (result,) = await on.play({"calls": [subagent("child", agent="other")]})
        assert result.content.startswith("scripted\n")


@pytest.mark.req("PRM-34")
async def test_a_project_without_trust_defines_nobody_and_is_told_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine.below(tmp_path)
    define(machine.root / ".hilt" / "agents", "critic")
    define(machine.user_dir / "agents", "critic", "---\ndescription: the user's\n---\n")
    config = machine.load(Flags(tools="delegation"))
    assert any("1 agent definition" in warning for warning in config.warnings), config.warnings
    async with house(machine.root, config=config) as home:
        session = await home.app.sessions.create()
        assert "critic (the user's)" in next(s.description for s in session.specs() if s.name == "Subagent")
    trusted = machine.load(Flags(tools="delegation", trust_project=True))
    async with house(machine.root, config=trusted) as home:
        session = await home.app.sessions.create()
        assert "critic (Reads and objects.)" in next(s.description for s in session.specs() if s.name == "Subagent")
        assert "agent_definition_hidden file=" in caplog.text
    async with house(tmp_path, config=trusted) as home:  # trust is for the project, not for another folder
        session = await home.app.sessions.create()
        assert "critic (the user's)" in next(s.description for s in session.specs() if s.name == "Subagent")
        assert "Subagent" in names(session)


@pytest.mark.req("PRM-34")
async def test_a_place_that_cannot_be_listed_is_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine.below(tmp_path)
    (machine.root / ".hilt").mkdir(parents=True, exist_ok=True)
    (machine.root / ".hilt" / "agents").write_text("no folder")
    config = machine.load(Flags(tools="delegation", trust_project=True))
    async with house(machine.root, config=config) as home:
        session = await home.app.sessions.create()
        assert "are defined here" not in next(s.description for s in session.specs() if s.name == "Subagent")
    assert "agent_definitions_left_out source=.hilt/agents why=Not a directory" in caplog.text
    assert machine.load(Flags(tools="delegation")).warnings == ()


@pytest.mark.req("PRM-28")
async def test_a_definition_is_changed_only_after_asking_in_every_mode(tmp_path: Path) -> None:
    cast = Cast()
    write = call("Write", {"path": ".hilt/agents/critic.md", "content": CRITIC})
    async with stage(tmp_path, cast, enable={"files"}, rules=allow("Write"), session={"mode": "accept-edits"}) as on:
        (result,) = await on.play({"calls": [write]})
        assert "no approver was present" in result.content
        assert not (tmp_path / ".hilt").exists()


@pytest.mark.req("BLT-10", "BLT-62")
async def test_a_call_opens_no_script_for_a_model_that_is_none(tmp_path: Path) -> None:
    class Real(Cast):
        name = "anthropic/real"

    secret = tmp_path / "keys.json"
    secret.write_text('{"sk_live_SECRET": 1}')
    os.mkfifo(tmp_path / "pipe")
    async with stage(tmp_path, Real(), rules=allow("*")) as on:
        for file in (secret, tmp_path / "pipe", Path("/dev/zero"), tmp_path / "none"):
            for args in ({"model": f"scripted:{file}"}, {"provider": "scripted", "model": str(file)}):
                body = await on.one("agent_spawn", prompt="child", **args)
                assert body["error"] == "invalid_arguments"
                assert "a script can be named by whoever starts hilt" in str(body["message"])
                assert "SECRET" not in str(body)
                assert str(tmp_path) not in str(body)
        body = await on.one("Subagent", prompt="child", model=f"scripted:{secret}")
        assert "by whoever starts hilt" in str(body["message"])


@pytest.mark.req("BLT-62")
async def test_a_script_that_is_none_is_told_without_what_it_holds_and_where_it_lies(tmp_path: Path) -> None:
    script = tmp_path / "keys.json"
    script.write_text('{"sk_live_SECRET": 1}')
    async with stage(tmp_path, Cast(), rules=allow("*")) as on:
        for file in (script, tmp_path / "none"):
            body = await on.one("agent_spawn", prompt="child", model=f"scripted:{file}")
            assert body["error"] == "invalid_arguments"
            assert str(body["message"]).endswith("model: that script cannot be used")
