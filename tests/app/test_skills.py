"""Which skills and commands an application has: tiers, trust, the places of other tools, and where drafts may go."""

from pathlib import Path

import pytest

import hilt
from hilt.adapters.skill_dir import SkillDirectory
from hilt.app.config import Config
from hilt.app.flags import Flags
from hilt.app.settings import SkillSettings
from hilt.app.skills import load_skills
from hilt.core.errors import ConfigError
from tests.app.house import house
from tests.app.places import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine.below(tmp_path)


def skill(folder: Path, name: str, body: str = "Do.") -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}.\n---\n{body}\n")


def command(folder: Path, name: str, body: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(body)


async def tiers(machine: Machine, flags: Flags, *sources: object) -> dict[str, str]:
    loaded = await load_skills(machine.load(flags), sources)  # type: ignore[arg-type]  # sources of skills, by the callers
    return {found.meta.name: f"{found.origin.tier} {found.origin.place}" for found in loaded.book.all}


@pytest.mark.req("SKL-22", "SKL-23")
async def test_the_tiers_are_explicit_project_user_driver_and_the_earlier_wins(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    explicit, driver = machine.root / "explicit", machine.home / "driver"
    places = [explicit, machine.root / ".hilt" / "skills", machine.user_dir / "skills", driver]
    for at, place in enumerate(places):
        for name in ("e", "p", "u", "d")[at:]:
            skill(place, name, body=str(at))
    flags = Flags(skills_dirs=("explicit",), trust_project=True)
    assert await tiers(machine, flags, SkillDirectory(driver, label="mine")) == {
        "e": "explicit explicit",
        "p": "explicit explicit",
        "u": "explicit explicit",
        "d": "explicit explicit",
    }
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 6
    assert "skill_hidden skill=d winner=explicit (explicit) loser=mine (driver)" in told
    assert await tiers(machine, Flags(trust_project=True), SkillDirectory(driver, label="mine")) == {
        "p": "project .hilt/skills",
        "u": "project .hilt/skills",
        "d": "project .hilt/skills",
    }
    assert await tiers(machine, Flags(), SkillDirectory(driver, label="mine")) == {
        "u": "user ~/.config/hilt/skills",
        "d": "user ~/.config/hilt/skills",
    }


@pytest.mark.req("SKL-24", "SKL-58", "PRM-34")
async def test_an_untrusted_projects_skills_and_commands_are_silent_and_one_warning_says_how_to_trust(
    machine: Machine,
) -> None:
    skill(machine.root / ".hilt" / "skills", "mine")
    skill(machine.root / ".hilt" / "skills", "other")
    command(machine.root / ".hilt" / "commands", "do", "Do $1.")
    config = machine.load(Flags(tools="skills"))
    assert list(config.warnings) == [
        "this project is not trusted; left out: 2 skills, 1 commands (see --trust-project and trust.projects)"
    ]
    async with house(machine.root, config=config) as home:
        assert "Skill" not in home.app.catalog.names
        assert home.app.slash.names() == []
        assert await home.app.slash.expand("/mine x") is None
        assert await home.app.slash.expand("/do x") is None
    trusted = machine.load(Flags(tools="skills", trust_project=True))
    assert list(trusted.warnings) == []
    async with house(machine.root, config=trusted) as home:
        assert "Skill" in home.app.catalog.names
        assert await home.app.slash.expand("/mine") == "Do."
        assert await home.app.slash.expand("/do x") == "Do x."


@pytest.mark.req("SKL-24")
async def test_trust_in_one_workspace_is_none_in_another(machine: Machine, tmp_path: Path) -> None:
    skill(machine.root / ".hilt" / "skills", "mine")
    config = machine.load(Flags(trust_project=True))
    loaded = await load_skills(config, root=str(tmp_path))
    assert loaded.book.all == ()
    assert [meta.name for meta in (await load_skills(config, root=str(machine.root))).book.metas] == ["mine"]


@pytest.mark.req("SKL-24")
async def test_an_untrusted_project_never_replaces_a_users_skill(machine: Machine) -> None:
    skill(machine.root / ".hilt" / "skills", "deploy", body="PROJECT")
    skill(machine.user_dir / "skills", "deploy", body="USER")
    untrusted = await load_skills(machine.load())
    trusted = await load_skills(machine.load(Flags(trust_project=True)))
    assert [await loaded.book.body("deploy") for loaded in (untrusted, trusted)] == ["USER", "PROJECT"]


@pytest.mark.req("SKL-25")
async def test_the_places_of_other_tools_count_only_where_the_settings_say_so(machine: Machine) -> None:
    for base in (machine.root, machine.home):
        skill(base / ".agents" / "skills", f"agents-{base.name}")
        skill(base / ".claude" / "skills", f"claude-{base.name}")
        command(base / ".claude" / "commands", f"do-{base.name}", "x")
    trust = Flags(trust_project=True)
    plain = await load_skills(machine.load(trust))
    assert (plain.book.all, [list(one.names()) for one in plain.expanders]) == ((), [[]])
    machine.user("skills: {conventional: true}")
    assert await tiers(machine, trust) == {
        "agents-work": "project .agents/skills",
        "claude-work": "project .claude/skills",
        "agents-home": "user ~/.agents/skills",
        "claude-home": "user ~/.claude/skills",
    }
    loaded = await load_skills(machine.load(trust))
    assert [list(one.names()) for one in loaded.expanders[:-1]] == [["do-work"], ["do-home"]]
    assert list(machine.load().warnings) == [
        "this project is not trusted; left out: 2 skills, 1 commands (see --trust-project and trust.projects)"
    ]


@pytest.mark.req("SKL-57")
async def test_among_command_files_the_projects_wins(machine: Machine) -> None:
    command(machine.root / ".hilt" / "commands", "do", "PROJECT")
    command(machine.user_dir / "commands", "do", "USER")
    found = []
    for flags in (Flags(), Flags(trust_project=True)):
        async with house(machine.root, config=machine.load(flags)) as home:
            found.append(await home.app.slash.expand("/do"))
    assert found == ["USER", "PROJECT"]


@pytest.mark.req("SKL-22", "SKL-21")
async def test_directories_of_a_flag_are_below_the_current_one_and_of_a_file_below_the_workspace(
    machine: Machine,
) -> None:
    skill(machine.root / "team", "a")
    machine.user("skills: {dirs: [team], draft_dir: ~/drafts}")
    config = machine.load()
    assert config.skills.dirs == (str(machine.root / "team"),)
    assert config.skills.draft_dir == str(machine.home / "drafts")
    with pytest.raises(ConfigError, match="--skills-dir: 'nowhere' is no directory"):
        machine.load(Flags(skills_dirs=("nowhere",)))
    assert machine.load(Flags(skills_draft_dir="../drafts")).skills.draft_dir == str(machine.root / "../drafts")


async def test_a_directory_that_cannot_be_read_is_left_out_with_a_warning(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.user_dir.mkdir(parents=True)
    (machine.user_dir / "skills").write_text("no directory")
    (machine.user_dir / "commands").write_text("no directory")
    gone = Config(skills=SkillSettings(dirs=(str(machine.root / "gone"),)))
    assert (await load_skills(machine.load())).book.all == ()
    assert (await load_skills(gone)).book.all == ()
    assert [record.getMessage() for record in caplog.records] == [
        "skill_source_left_out source=~/.config/hilt/skills why=Not a directory",
        "skill_source_left_out source=~/.config/hilt/commands why=Not a directory",
        "skill_source_left_out source=gone why=No such file or directory",
    ]


class Neither:
    """Has no operation of any source."""


async def test_a_source_that_is_none_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="source 1 has the operations of neither skills nor commands"):
        async with house(tmp_path, skill_sources=[Neither()]):
            pass


@pytest.mark.req("SKL-71")
async def test_drafts_lie_outside_of_everything_that_is_written_to_or_read(machine: Machine) -> None:
    extra = machine.home / "extra"
    extra.mkdir()
    (machine.home / "link").symlink_to(machine.root)
    (machine.home / "team").mkdir()
    where = {
        str(machine.root / "drafts"): "the workspace",
        str(machine.home / "link" / "drafts"): "the workspace",
        str(extra / "drafts"): "an extra root",
        str(machine.home / "team" / "x"): "the skills of team",
        str(machine.home): "the skills of team",
        str(machine.user_dir / "skills" / "x"): "the skills of ~/.config/hilt/skills",
        str(machine.home / ".claude" / "skills"): "the skills of ~/.claude/skills",
    }
    for folder, what in where.items():
        flags = Flags(
            skills_draft_dir=folder,
            skills_dirs=(str(machine.home / "team"),),
            add_dirs=(str(extra),),
            tools="skills",
        )
        with pytest.raises(ConfigError, match=f"the directory of drafts must lie outside of {what}"):
            async with house(machine.root, config=machine.load(flags)):
                pass


@pytest.mark.req("SKL-71", "SKL-70", "BLT-09")
async def test_skill_draft_is_there_only_with_a_directory_and_comes_last(machine: Machine) -> None:
    skill(machine.user_dir / "skills", "demo")
    with_drafts = Flags(tools="skills,files", skills_draft_dir=str(machine.home / "drafts"))
    async with house(machine.root, config=machine.load(Flags(tools="skills,files"))) as home:
        assert "SkillDraft" not in home.app.catalog.names
    async with house(machine.root, config=machine.load(with_drafts)) as home:
        assert list(home.app.catalog.names)[-2:] == ["Skill", "SkillDraft"]
        own = await home.app.sessions.create(profile="no-fs")
        assert "SkillDraft" not in own.catalog.names
        assert "Skill" in own.catalog.names


async def test_without_settings_no_file_is_read(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    skill(machine.root / ".hilt" / "skills", "mine")
    monkeypatch.setenv("HOME", str(machine.home))
    skill(machine.user_dir / "skills", "users")
    async with hilt.build(workspace=machine.root, model=hilt.ScriptedModel(), enable={"skills"}) as app:
        assert app.skills.all == ()
        assert app.slash.names() == []
