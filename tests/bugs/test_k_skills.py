"""Kind k: odd SKILL.md files, two skills of one name, dollar signs in a skill's text."""

import json
import logging
import shutil
from pathlib import Path

import pytest

from hilt.adapters.skill_dir import SkillDirectory
from hilt.app.flags import Flags
from hilt.app.skills import load_skills
from tests.app.house import House, house
from tests.app.places import Machine

INPUTS = Path(__file__).parent / "inputs" / "skills"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine.below(tmp_path)


async def listed(case: str) -> dict[str, str]:
    source = SkillDirectory(INPUTS / case, label=case)
    return {meta.name: meta.description for meta in await source.list_skills()}


def told(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == level]


async def activated(home: House, name: str) -> str:
    session = await home.app.sessions.create()
    return (await session.call_tool("Skill", json.dumps({"name": name}))).content


@pytest.mark.req("SKL-08")
async def test_k1_a_colon_costs_one_file_with_a_warning_that_names_line_and_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        found = await listed("k1_colon")
    assert found == {"fine": "Nothing odd here", "hash": "Ranks issues like"}
    assert told(caplog) == [
        "skill_left_out file=k1_colon/broken/SKILL.md why=line 4: not valid YAML: expected ',' or ']', but got ':'",
        "skill_left_out file=k1_colon/tidy-notes/SKILL.md why=line 3: not valid YAML: mapping values are not allowed"
        " here; put the value in quotes",
    ]
    assert told(caplog, logging.INFO) == [
        "skill_note file=k1_colon/hash/SKILL.md note=description: it ends at a ' #', which begins a comment;"
        " quotes keep the rest"
    ]


@pytest.mark.req("SKL-07")
async def test_k2_a_byte_order_mark_is_passed_over() -> None:
    assert await listed("k2_bom") == {"bom-skill": "Saved with a mark in front"}
    assert await SkillDirectory(INPUTS / "k2_bom").skill_body("bom-skill") == "Do the thing."


@pytest.mark.req("SKL-07")
async def test_k3_crlf_and_a_file_that_ends_at_its_fence_load() -> None:
    assert await listed("k3_crlf") == {
        "crlf-skill": "Saved on another system",
        "no-end-newline": "Ends at the fence",
    }
    assert await SkillDirectory(INPUTS / "k3_crlf").skill_body("crlf-skill") == "Line one.\nLine two."


@pytest.mark.req("SKL-02", "SKL-03", "SKL-08")
async def test_k4_every_listed_name_can_be_activated_and_a_mismatch_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sources = [SkillDirectory(INPUTS / case, label=case) for case in ("k4_mismatch", "k1_colon", "k2_bom")]
    assert "skill_left_out file=k4_mismatch/folder-a/SKILL.md why=line 2: name: 'name-b' is not the name of its" in (
        "\n".join(told(caplog))
    )
    async with house(tmp_path, skill_sources=sources, enable={"skills"}) as home:
        names = [meta.name for meta in home.app.skills.metas]
        assert names == ["bom-skill", "fine", "hash"]
        for name in names:
            assert await activated(home, name) == "Do the thing."
            assert await home.app.slash.expand(f"/{name}") == "Do the thing."
        for wrong in ("name-b", "folder-a"):
            assert "near names: " in await activated(home, wrong)


@pytest.mark.req("SKL-03", "SKL-23")
@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
async def test_k5_two_skills_of_one_name_are_settled_alike_on_every_run(
    machine: Machine, caplog: pytest.LogCaptureFixture, order: tuple[str, str]
) -> None:
    for name in order:
        shutil.copytree(INPUTS / "k5_duplicate" / name, machine.home / "both" / name)
        shutil.copytree(INPUTS / "k5_duplicate" / name, machine.home / name / "deploy")
    assert await SkillDirectory(machine.home / "both").list_skills() == []
    assert [line.split(" why=")[0] for line in told(caplog)] == [
        "skill_left_out file=both/one/SKILL.md",
        "skill_left_out file=both/two/SKILL.md",
    ]
    flags = Flags(skills_dirs=(str(machine.home / "one"), str(machine.home / "two")))
    for _ in range(10):
        caplog.clear()
        book = (await load_skills(machine.load(flags))).book
        assert await book.body("deploy") == "FIRST"
        assert told(caplog) == ["skill_hidden skill=deploy winner=one (explicit) loser=two (explicit)"]


@pytest.mark.req("SKL-23", "SKL-24")
async def test_k5_a_trusted_project_wins_over_the_user_and_an_untrusted_one_never_does(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(INPUTS / "k5_duplicate" / "one", machine.root / ".hilt" / "skills" / "deploy")
    shutil.copytree(INPUTS / "k5_duplicate" / "two", machine.user_dir / "skills" / "deploy")
    assert await (await load_skills(machine.load())).book.body("deploy") == "SECOND"
    assert told(caplog) == []
    assert await (await load_skills(machine.load(Flags(trust_project=True)))).book.body("deploy") == "FIRST"
    assert told(caplog) == [
        "skill_hidden skill=deploy winner=.hilt/skills (project) loser=~/.config/hilt/skills (user)"
    ]


@pytest.mark.req("SKL-50", "SKL-51", "SKL-52", "SKL-53")
async def test_k6_dollar_signs_are_filled_in_one_pass_and_stay_for_the_tool(tmp_path: Path) -> None:
    async with house(tmp_path, skill_sources=[SkillDirectory(INPUTS / "k6_args")], enable={"skills"}) as home:
        expand = home.app.slash.expand
        assert await expand('/greet "A $2 B" two') == ('Hello A $2 B, two and "A $2 B" two. Price: , $10, $1, $$.')
        assert await expand("/greet") == "Hello ,  and . Price: , $10, $1, $$."
        assert await activated(home, "greet") == "Hello $1, $2 and $ARGUMENTS. Price: $5, $10, \\$1, $$."
