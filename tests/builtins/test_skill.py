"""The tool Skill through the funnel: its list, bodies, assets, and what it never does."""

import json
from pathlib import Path

import pytest

from hilt.adapters.skill_dir import SkillDirectory
from hilt.builtins.skills.skill import Skill
from hilt.core.errors import ToolError
from hilt.core.permission import Subject
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.session import Session
from hilt.engine.skills import SkillBook
from hilt.ports.tool import Environment
from tests.app.house import house, names

BODY_MAX = 25_000


def skill(folder: Path, name: str, *, description: str = "About it.", body: str = "Do.", lines: str = "") -> Path:
    path = folder / name
    path.mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: {description}\n{lines}---\n\n{body}\n"
    (path / "SKILL.md").write_text(text, encoding="utf-8")
    return path


async def ask(session: Session, **arguments: str) -> ToolResult:
    return await session.call_tool("Skill", json.dumps(arguments))


def work(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    return root


@pytest.mark.req("SKL-30", "SKL-31", "SKL-21")
async def test_the_description_lists_the_skills_by_name_and_never_changes(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        skill(tmp_path / "s", name, description=f"About {name}.")
    async with house(work(tmp_path), skill_sources=[SkillDirectory(tmp_path / "s")], enable={"skills"}) as home:
        session = await home.app.sessions.create()
        await home.run(session, {"calls": [{"id": "1", "name": "Skill", "args": {"name": "a"}}]}, {"text": "done"})
        skill(tmp_path / "s", "later")
        await home.run(await home.app.sessions.create(), {"text": "done"})
        specs = [spec for request in home.model.requests for spec in request.tools if spec.name == "Skill"]
    assert len(specs) == 3
    assert {spec.to_json() for spec in specs} == {specs[0].to_json()}
    assert specs[0].description.endswith("Skills:\n- a: About a.\n- b: About b.\n- c: About c.")


@pytest.mark.req("SKL-31")
async def test_past_16000_bytes_skills_are_listed_by_name_alone(tmp_path: Path) -> None:
    for number in range(30):
        skill(tmp_path, f"s{number:02}", description="é" * 500)
    async with house(work(tmp_path), skill_sources=[SkillDirectory(tmp_path)], enable={"skills"}) as home:
        entry = home.app.catalog.entry("Skill")
    assert entry is not None
    lines = entry.spec.description.split("Skills:\n")[1].split("\n")
    full = [line for line in lines if ":" in line]
    assert len("\n".join(full).encode()) <= 16_000 < len("\n".join([*full, full[0]]).encode())
    assert lines == [*full, *(f"- s{number:02}" for number in range(len(full), 30))]


@pytest.mark.req("SKL-32", "SKL-41", "SKL-42", "SKL-40")
async def test_activating_gives_body_and_assets_and_changes_nothing_else(tmp_path: Path) -> None:
    path = skill(tmp_path / "s", "demo", body="Run scripts/do.sh.")
    (path / "scripts").mkdir()
    (path / "scripts" / "do.sh").write_text("#!/bin/sh\ntouch ran\n")
    root = work(tmp_path)
    options = {"skill_sources": [SkillDirectory(tmp_path / "s")], "enable": {"skills", "files"}}
    async with house(root, **options) as home:
        session = await home.app.sessions.create()
        before = names(session)
        result = await ask(session, name="demo")
        assert result.content == (
            "Run scripts/do.sh.\n\nAssets of this skill; to read one call Skill with its name as `asset`:"
            "\n- scripts/do.sh (20 bytes)"
        )
        assert (await ask(session, name="demo", asset="scripts/do.sh")).content == "#!/bin/sh\ntouch ran\n"
        assert names(session) == before
        read = await session.call_tool("Read", json.dumps({"path": str(path / "SKILL.md")}))
    assert read.is_error
    assert list(root.iterdir()) == []


@pytest.mark.req("SKL-33")
async def test_the_list_of_assets_is_bounded_and_says_how_many_are_left_out(tmp_path: Path) -> None:
    path = skill(tmp_path, "demo")
    for number in range(200):
        (path / f"{number:03}-{'x' * 100}").write_text("")
    async with house(work(tmp_path), skill_sources=[SkillDirectory(tmp_path)], enable={"skills"}) as home:
        text = (await ask(await home.app.sessions.create(), name="demo")).content
    lines = text.removeprefix("Do.").strip("\n").split("\n")
    assert len(text.removeprefix("Do.").encode()) <= 8_000
    assert lines[-1] == f"… and {200 - (len(lines) - 2)} more"


@pytest.mark.req("SKL-10")
async def test_a_long_body_is_cut_at_a_character_with_a_mark_that_leads_to_the_rest(tmp_path: Path) -> None:
    path = skill(tmp_path, "long", body="é" * 20_000)
    (path / "a.md").write_text("x")
    skill(tmp_path, "just", body="é" * (BODY_MAX // 2))
    async with house(work(tmp_path), skill_sources=[SkillDirectory(tmp_path)], enable={"skills"}) as home:
        session = await home.app.sessions.create()
        whole = await ask(session, name="just")
        cut = await ask(session, name="long")
        shown, _, rest = cut.content.partition("\n[")
        call = json.loads("{" + rest.partition("ReadResult {")[2].partition("]")[0])
        more = await session.call_tool("ReadResult", json.dumps(call))
    assert whole.content == "é" * (BODY_MAX // 2)
    assert len(cut.content.encode()) <= BODY_MAX
    assert set(shown) == {"é"}
    assert "40000 bytes are missing here" in cut.content
    assert "- a.md (1 bytes)" in cut.content
    head, _, tail = more.content.partition("\n")
    assert "this is the end" in head
    assert shown + tail == "é" * 20_000


async def test_without_a_place_for_results_the_mark_says_that_nothing_keeps_the_rest(tmp_path: Path) -> None:
    skill(tmp_path, "long", body="x" * 30_000)
    async with house(work(tmp_path), skill_sources=[SkillDirectory(tmp_path)], enable={"skills"}) as home:
        tool = Skill(home.app.skills)
        result = await tool.execute(ToolCall("1", "Skill", '{"name": "long"}'), Environment())
    assert "ReadResult cannot show them" in result.content


@pytest.mark.req("SKL-34", "SKL-35")
async def test_an_asset_is_its_text_and_nothing_else_within_the_cap(tmp_path: Path) -> None:
    path = skill(tmp_path, "demo")
    (path / "a.md").write_bytes("\ufeffText\r\n".encode())
    (path / "long.md").write_text("line\n" * 10_000)
    async with house(work(tmp_path), skill_sources=[SkillDirectory(tmp_path)], enable={"skills"}) as home:
        session = await home.app.sessions.create()
        assert (await ask(session, name="demo", asset="a.md")).content == "\ufeffText\r\n"
        long = (await ask(session, name="demo", asset="long.md")).content
    assert len(long.encode()) <= BODY_MAX
    assert "ReadResult" in long


@pytest.mark.req("SKL-36")
@pytest.mark.parametrize(("content", "why"), [(b"\xff\xfe", "not valid UTF-8"), (b"a\0b", "a NUL byte")])
async def test_an_asset_that_is_no_text_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    (skill(tmp_path, "demo") / "a").write_bytes(content)
    async with house(work(tmp_path), skill_sources=[SkillDirectory(tmp_path)], enable={"skills"}) as home:
        result = await ask(await home.app.sessions.create(), name="demo", asset="a")
    assert result.is_error
    assert why in result.content


class Counting(SkillDirectory):
    """A directory that counts how often an asset is asked for."""

    asked = 0

    async def read_skill_asset(self, skill: str, asset: str) -> bytes:
        self.asked += 1
        return await super().read_skill_asset(skill, asset)


@pytest.mark.req("SKL-37", "SKL-38")
@pytest.mark.parametrize("asset", ["", "../x", "/etc/passwd", "a//b", "a/./b", "a\\b", "a\nb", "x" * 513])
async def test_a_name_that_is_none_is_refused_before_the_source_is_asked(tmp_path: Path, asset: str) -> None:
    skill(tmp_path, "demo")
    source = Counting(tmp_path)
    async with house(work(tmp_path), skill_sources=[source], enable={"skills"}) as home:
        session = await home.app.sessions.create()
        result = await ask(session, name="demo", asset=asset)
        unknown = await ask(session, name="demo", asset="none")
    assert json.loads(result.content)["error"] == "invalid_arguments"
    assert "has no asset 'none'" in unknown.content
    assert source.asked == 1


@pytest.mark.req("SKL-20")
async def test_an_asset_that_changed_is_refused_with_a_text_that_says_so(tmp_path: Path) -> None:
    path = skill(tmp_path, "demo")
    (path / "a.md").write_text("old")
    async with house(work(tmp_path), skill_sources=[SkillDirectory(tmp_path)], enable={"skills"}) as home:
        (path / "a.md").write_text("new")
        result = await ask(await home.app.sessions.create(), name="demo", asset="a.md")
    assert json.loads(result.content) == {
        "error": "execution_failed",
        "message": "Tool execution failed: asset 'a.md' of skill 'demo' has changed since hilt started;"
        " restart hilt to use it",
    }


@pytest.mark.req("SKL-43")
async def test_an_unknown_name_is_an_error_with_near_names(tmp_path: Path) -> None:
    for number in range(25):
        skill(tmp_path, f"skill-{number}")
    async with house(work(tmp_path), skill_sources=[SkillDirectory(tmp_path)], enable={"skills"}) as home:
        session = await home.app.sessions.create()
        text = json.loads((await ask(session, name="skil-7")).content)["message"]
        assert (await ask(session, name="skil-7", asset="a")).is_error
    assert text.startswith("Invalid arguments for tool 'Skill': no skill 'skil-7'; near names: skill-7, ")
    assert text.count("skill-") == 20
    empty = Skill(SkillBook())
    with pytest.raises(ToolError, match=r"no skill 'x'\Z"):
        await empty.execute(ToolCall("1", "Skill", '{"name": "x"}'), Environment())


@pytest.mark.req("SKL-44")
async def test_the_tool_is_there_only_with_its_category_and_a_skill(tmp_path: Path) -> None:
    skill(tmp_path / "s", "demo")
    root, source = work(tmp_path), SkillDirectory(tmp_path / "s")
    (tmp_path / "empty").mkdir()
    async with house(root, skill_sources=[source]) as home:
        assert "Skill" not in home.app.catalog.names
    async with house(root, skill_sources=[SkillDirectory(tmp_path / "empty")], enable={"skills"}) as home:
        assert "Skill" not in home.app.catalog.names
    async with house(root, skill_sources=[source], enable={"skills"}) as home:
        assert list(home.app.catalog.names) == ["ReadResult", "ToolSearch", "Skill"]
        session = await home.app.sessions.create(profile="no-fs")
        assert "Skill" in names(session)


@pytest.mark.req("SKL-06")
async def test_allowed_tools_grant_nothing_and_hide_nothing(tmp_path: Path) -> None:
    skill(tmp_path / "s", "demo", lines="allowed-tools: Write Read\n")
    root = work(tmp_path)
    options = {"skill_sources": [SkillDirectory(tmp_path / "s")], "enable": {"skills", "files"}}
    async with house(root, **options) as home:
        session = await home.app.sessions.create()
        before = names(session)
        assert not (await ask(session, name="demo")).is_error
        result = await session.call_tool("Write", '{"path": "a", "content": "x"}')
        assert names(session) == before
    assert json.loads(result.content)["error"] == "access_denied"
    assert list(root.iterdir()) == []


@pytest.mark.req("PRM-10")
def test_patterns_see_the_name_and_the_asset() -> None:
    tool = Skill(SkillBook())
    plain = tool.subjects(ToolCall("1", "Skill", '{"name": "a"}'))
    assert (plain.unnamed, dict(plain.named)) == ((Subject(text="a"),), {"name": (Subject(text="a"),), "asset": ()})
    assert tool.subjects(ToolCall("1", "Skill", '{"name": "a", "asset": "b"}')).named["asset"] == (Subject(text="b"),)
