"""Skills from a directory: found once, files that break a rule, assets and the links among them."""

import logging
import os
from pathlib import Path

import pytest

from hilt.adapters import skill_dir
from hilt.adapters.skill_dir import SkillDirectory
from hilt.core.skill import ASSET_MAX_BYTES, AssetNotFound, SkillNotFound, SkillUnavailableError


def skill(folder: Path, name: str, *, text: str = "", body: str = "Do.") -> Path:
    path = folder / name
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(text or f"---\nname: {name}\ndescription: About {name}.\n---\n{body}\n")
    return path


async def names(source: SkillDirectory) -> list[str]:
    return [meta.name for meta in await source.list_skills()]


async def assets(source: SkillDirectory, name: str = "demo") -> list[str]:
    return [asset.name for asset in await source.list_skill_assets(name)]


@pytest.mark.req("SKL-08", "SKL-01")
async def test_a_bad_file_is_left_out_with_one_warning_and_the_others_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    skill(tmp_path, "good")
    skill(tmp_path, "bad", text="---\nname: bad\n---\n")
    skill(tmp_path, "other", text="---\nname: Other\ndescription: x\n---\n")
    (tmp_path / "no-skill").mkdir()
    (tmp_path / "file.md").write_text("x")
    (tmp_path / "odd").mkdir()
    os.mkfifo(tmp_path / "odd" / "SKILL.md")
    with caplog.at_level(logging.INFO):
        source = SkillDirectory(tmp_path, label=".hilt/skills")
    assert await names(source) == ["good"]
    assert sorted(record.getMessage() for record in caplog.records) == [
        "skill_left_out file=.hilt/skills/bad/SKILL.md why=line 1: description: it is missing",
        "skill_left_out file=.hilt/skills/odd/SKILL.md why=it is no file inside its directory",
        "skill_left_out file=.hilt/skills/other/SKILL.md why=line 2: name: 'Other' is not made of a-z, 0-9, '-' and"
        " '_', with a letter or digit at its start and end",
    ]


@pytest.mark.req("SKL-05")
async def test_unknown_keys_are_told_at_info(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    skill(tmp_path, "demo", text="---\nname: demo\ndescription: x\nmodel: big\n---\n")
    with caplog.at_level(logging.INFO):
        SkillDirectory(tmp_path, label="s")
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert record.getMessage() == "skill_note file=s/demo/SKILL.md note=keys that the format does not know: model"


async def test_a_directory_with_a_skill_file_is_one_skill_and_small_letters_count(tmp_path: Path) -> None:
    path = skill(tmp_path, "demo")
    (path / "SKILL.md").rename(path / "skill.md")
    assert await names(SkillDirectory(path)) == ["demo"]
    assert await names(SkillDirectory(tmp_path)) == ["demo"]
    assert SkillDirectory(path).label == "demo"


@pytest.mark.req("SKL-19", "SKL-20", "SKL-21")
async def test_what_was_found_stays_whatever_happens_on_the_disk(tmp_path: Path) -> None:
    path = skill(tmp_path, "demo", body="First.")
    (path / "a.md").write_text("old")
    (path / "b.md").write_text("old")
    source = SkillDirectory(tmp_path)
    skill(tmp_path, "later")
    (path / "SKILL.md").write_text("---\nname: demo\ndescription: changed\n---\nSecond.\n")
    (path / "a.md").write_text("new")
    (path / "b.md").unlink()
    (path / "c.md").write_text("new")
    assert [(meta.name, meta.description) for meta in await source.list_skills()] == [("demo", "About demo.")]
    assert await source.skill_body("demo") == "First."
    assert await assets(source) == ["a.md", "b.md"]
    for asset in ("a.md", "b.md"):
        with pytest.raises(SkillUnavailableError, match="has changed since hilt started"):
            await source.read_skill_asset("demo", asset)
    with pytest.raises(AssetNotFound):
        await source.read_skill_asset("demo", "c.md")
    with pytest.raises(SkillNotFound):
        await source.skill_body("later")


@pytest.mark.req("SKL-26")
async def test_a_link_that_leads_out_of_the_skill_is_no_asset(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.mkdir()
    (outside / "key").write_text("secret")
    path = skill(tmp_path / "skills", "demo")
    (path / "inside.md").write_text("x")
    (path / "to-inside.md").symlink_to("inside.md")
    (path / "to-file").symlink_to(outside / "key")
    (path / "to-folder").symlink_to(outside)
    (path / "to-nothing").symlink_to("nothing")
    (path / "to-itself").symlink_to("to-itself")
    os.mkfifo(path / "pipe")
    source = SkillDirectory(tmp_path / "skills")
    assert await assets(source) == ["inside.md", "to-inside.md"]
    (path / "inside.md").unlink()
    (path / "inside.md").symlink_to(outside / "key")
    with pytest.raises(SkillUnavailableError):
        await source.read_skill_asset("demo", "inside.md")
    stolen = tmp_path / "skills" / "stolen"
    stolen.mkdir()
    (stolen / "SKILL.md").symlink_to(outside / "key")
    assert await names(SkillDirectory(tmp_path / "skills")) == ["demo"]


async def test_names_that_no_asset_can_have_and_the_folders_of_git_are_passed_over(tmp_path: Path) -> None:
    path = skill(tmp_path, "demo")
    (path / ".git").mkdir()
    (path / ".git" / "HEAD").write_text("x")
    (path / "back\\slash").write_text("x")
    (path / "line\nend").write_text("x")
    (path / "sub").mkdir()
    (path / "sub" / ".hidden").write_text("x")
    assert await assets(SkillDirectory(tmp_path)) == ["sub/.hidden"]


async def test_a_huge_asset_is_listed_and_refused(tmp_path: Path) -> None:
    path = skill(tmp_path, "demo")
    with (path / "huge").open("wb") as file:
        file.truncate(ASSET_MAX_BYTES + 1)
    source = SkillDirectory(tmp_path)
    (listed,) = await source.list_skill_assets("demo")
    assert listed.size_bytes == ASSET_MAX_BYTES + 1
    with pytest.raises(SkillUnavailableError, match=f"{ASSET_MAX_BYTES} are the most"):
        await source.read_skill_asset("demo", "huge")


async def test_too_many_assets_are_cut_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skill_dir, "ASSETS_MAX", 2)
    path = skill(tmp_path, "demo")
    for name in "abc":
        (path / name).write_text("x")
    assert await assets(SkillDirectory(tmp_path)) == ["a", "b"]
    assert [record.getMessage() for record in caplog.records] == ["skill_assets_left_out skill=demo more_than=2"]


def test_a_directory_that_is_none_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SkillDirectory(tmp_path / "none")
