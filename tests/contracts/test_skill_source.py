"""What every source of skills does, wherever the skills come from: a directory, a service."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from hilt.adapters.skill_dir import SkillDirectory
from hilt.adapters.skill_http import HttpSkills
from hilt.core.skill import AssetNotFound, SkillAsset, SkillMeta, SkillNotFound
from hilt.ports.skill import SkillSource
from tests.app.house import house
from tests.contracts.skill_service import skill_service

Skills = Mapping[str, tuple[str, str, Mapping[str, bytes]]]

GIVEN: Skills = {
    "review-sql": (
        "Checks migrations.",
        "# Steps\n\nRead $1.",
        {"references/locks.md": b"locks\n", "a b/ü.txt": b"u", "raw.bin": b"\xff\0"},
    ),
    "empty": ("Has no assets.", "Nothing.", {}),
}


def directory(stack: ExitStack, folder: Path, skills: Skills) -> SkillSource:
    for name, (description, body, assets) in skills.items():
        (folder / name).mkdir()
        (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
        for asset, content in assets.items():
            (folder / name / asset).parent.mkdir(exist_ok=True)
            (folder / name / asset).write_bytes(content)
    return SkillDirectory(folder)


def service(stack: ExitStack, folder: Path, skills: Skills) -> SkillSource:
    served = stack.enter_context(skill_service())
    served.skills = skills
    return HttpSkills(served.url)


SOURCES: dict[str, Callable[[ExitStack, Path, Skills], SkillSource]] = {"directory": directory, "service": service}


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> "object":
    with ExitStack() as stack:
        yield SOURCES[request.param](stack, tmp_path, GIVEN)


@pytest.mark.req("SKL-15", "SKL-17")
async def test_skills_are_listed_with_name_and_description(source: SkillSource) -> None:
    listed = await source.list_skills()
    assert sorted((meta.name, meta.description) for meta in listed) == [
        ("empty", "Has no assets."),
        ("review-sql", "Checks migrations."),
    ]


@pytest.mark.req("SKL-15", "SKL-17")
async def test_a_body_comes_as_written(source: SkillSource) -> None:
    assert await source.skill_body("review-sql") == "# Steps\n\nRead $1."


@pytest.mark.req("SKL-15", "SKL-17")
async def test_assets_are_sorted_and_come_byte_for_byte(source: SkillSource) -> None:
    assert list(await source.list_skill_assets("empty")) == []
    assert list(await source.list_skill_assets("review-sql")) == [
        SkillAsset(name="a b/ü.txt", size_bytes=1),
        SkillAsset(name="raw.bin", size_bytes=2),
        SkillAsset(name="references/locks.md", size_bytes=6),
    ]
    for asset, content in GIVEN["review-sql"][2].items():
        assert await source.read_skill_asset("review-sql", asset) == content


@pytest.mark.req("SKL-18")
async def test_an_unknown_skill_and_an_unknown_asset_are_told_apart(source: SkillSource) -> None:
    for ask in (source.skill_body("nope"), source.list_skill_assets("nope"), source.read_skill_asset("nope", "a")):
        with pytest.raises(SkillNotFound, match="no skill 'nope'"):
            await ask
    with pytest.raises(AssetNotFound, match="skill 'review-sql' has no asset 'references'"):
        await source.read_skill_asset("review-sql", "references")


@pytest.mark.req("SKL-17")
async def test_the_rest_of_hilt_uses_every_source_alike(source: SkillSource, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    async with house(tmp_path / "work", skill_sources=[source], enable={"skills"}) as home:
        session = await home.app.sessions.create()
        text = (await session.call_tool("Skill", '{"name": "review-sql"}')).content
        asset = await session.call_tool("Skill", '{"name": "review-sql", "asset": "references/locks.md"}')
        assert text.startswith("# Steps\n\nRead $1.\n\nAssets of this skill")
        assert asset.content == "locks\n"
        assert await home.app.slash.expand("/review-sql it") == "# Steps\n\nRead it."


@pytest.mark.req("SKL-15", "SKL-16")
def test_the_port_is_four_asynchronous_operations_without_a_path() -> None:
    operations = {name: value for name, value in vars(SkillSource).items() if inspect.iscoroutinefunction(value)}
    assert sorted(operations) == ["list_skill_assets", "list_skills", "read_skill_asset", "skill_body"]
    words = [str(inspect.signature(operation)) for operation in operations.values()]
    words += [*SkillMeta.__dataclass_fields__, *SkillAsset.__dataclass_fields__]
    assert not [word for word in words if any(part in word.lower() for part in ("path", "dir", "root", "folder"))]
