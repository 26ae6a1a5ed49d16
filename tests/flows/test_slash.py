"""`/name args` through a whole application: what expands it, what the model and hooks see, what is stored."""

import json
from pathlib import Path

import pytest

import hilt
from hilt.adapters.skill_dir import SkillDirectory
from hilt.app.flags import Flags
from hilt.core.errors import RequestError
from hilt.core.record import record_from_json, record_to_json
from hilt.core.session import StopReason, UserMessage
from hilt.engine.slash import ListedCommand
from tests.app.house import House, house, script_server
from tests.app.places import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine.below(tmp_path)


def skill(folder: Path, name: str, body: str) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}.\n---\n{body}\n")


def command(folder: Path, name: str, body: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(body)


async def typed(home: House, line: str) -> str:
    """Type a line into a new session and return what its model was asked."""
    session = await home.app.sessions.create()
    expanded = await home.app.slash.expand(line)
    home.model.add({"text": "ok"})
    run = session.prompt(line) if expanded is None else session.prompt(expanded, typed=line)
    async for _ in run:
        pass
    (message,) = home.model.requests[-1].messages
    assert isinstance(message, UserMessage)
    return message.text


@pytest.mark.req("SKL-50", "SKL-51", "SKL-53")
async def test_a_skill_as_a_command_puts_its_filled_body_in_place_of_the_input(tmp_path: Path) -> None:
    skill(tmp_path / "s", "greet", "Hello $1, $2 and $ARGUMENTS.")
    (tmp_path / "w").mkdir()
    async with house(tmp_path / "w", skill_sources=[SkillDirectory(tmp_path / "s")]) as home:
        assert await typed(home, '/greet "A $2 B" two') == 'Hello A $2 B, two and "A $2 B" two.'
        assert await typed(home, " /greet ") == "Hello ,  and ."
        assert len(home.model.requests) == 2


class Commands:
    """A driver source of commands that may fail."""

    def __init__(self, *names: str, fails: bool = False) -> None:
        self._names = names
        self._fails = fails
        self.asked: list[str] = []

    def names(self) -> list[str]:
        return list(self._names)

    async def expand(self, line: str) -> str | None:
        self.asked.append(line)
        if line.split(maxsplit=1)[0][1:] not in self._names:
            return None
        if self._fails:
            raise RequestError("the service is away", code="unavailable")
        return "from the driver"


@pytest.mark.req("SKL-56")
async def test_the_first_that_knows_the_name_expands_it(machine: Machine) -> None:
    command(machine.user_dir / "commands", "mcp__docs__brief", "from a file")
    driver = Commands("mcp__docs__brief", "both")
    skill(machine.user_dir / "skills", "both", "from a skill")
    got = {"messages": [{"role": "user", "content": {"type": "text", "text": "P"}}]}
    scenario = {
        "capabilities": {"tools": {}, "prompts": {}},
        "on": {
            "tools/list": [{"result": {"tools": []}}],
            "prompts/list": [{"result": {"prompts": [{"name": "brief", "description": "Briefs."}]}}],
            "prompts/get": [{"result": got}],
        },
    }
    server = script_server(machine.home, "docs", [])
    (machine.home / "docs.json").write_text(json.dumps(scenario))
    options = {"config": machine.load(), "mcp_servers": [server]}
    found: list[str | None] = []
    listing: list[ListedCommand] = []
    for sources in ([driver], []):
        async with house(machine.root, skill_sources=sources, **options) as home:
            found.append(await home.app.slash.expand("/mcp__docs__brief"))
            found.append(await home.app.slash.expand("/both"))
            listing = listing or home.app.slash.listing()
        command(machine.user_dir / "commands", "mcp__docs__brief", "from a file")
    assert found == ["from a file", "from a skill"] * 2
    shadows = {one.entry.name: (one.entry.kind, [hidden.kind for hidden in one.shadows]) for one in listing}
    assert shadows["both"] == ("skill", ["source"])
    assert shadows["mcp__docs__brief"] == ("command", ["source", "prompt"])
    (machine.user_dir / "commands" / "mcp__docs__brief.md").unlink()
    async with house(machine.root, skill_sources=[driver], **options) as home:
        assert await home.app.slash.expand("/mcp__docs__brief") == "from the driver"
    async with house(machine.root, **options) as home:
        assert await home.app.slash.expand("/mcp__docs__brief") == "P"


@pytest.mark.req("SKL-59")
async def test_one_that_knows_the_name_and_fails_ends_it(machine: Machine) -> None:
    failing, second = Commands("do", fails=True), Commands("do")
    async with house(machine.root, skill_sources=[failing, second]) as home:
        with pytest.raises(RequestError, match="the service is away"):
            await home.app.slash.expand("/do it")
        assert (second.asked, home.model.requests) == ([], [])


@pytest.mark.req("SKL-55", "SKL-59")
async def test_an_open_quote_is_an_error_that_shows_the_place(machine: Machine) -> None:
    skill(machine.user_dir / "skills", "do", "Do $1.")
    async with house(machine.root, config=machine.load(), skill_sources=[Commands("do")]) as home:
        with pytest.raises(RequestError, match=r"""the quote that opens at character 3 is never closed: "b c"""):
            await home.app.slash.expand('/do a "b c')
        assert home.model.requests == []


@pytest.mark.req("SKL-60")
@pytest.mark.parametrize("line", ["/nope x", "/etc/hosts", "no command", "/", "/ do", "//do", "a /do", "/dö"])
async def test_what_nobody_knows_is_sent_as_it_is(machine: Machine, line: str) -> None:
    skill(machine.user_dir / "skills", "do", "Do.")
    async with house(machine.root, config=machine.load()) as home:
        assert await typed(home, line) == line


@pytest.mark.req("SKL-62")
async def test_an_expansion_over_100000_bytes_is_an_error(machine: Machine) -> None:
    skill(machine.user_dir / "skills", "big", "$1$1")
    async with house(machine.root, config=machine.load()) as home:
        assert await home.app.slash.expand("/big " + "x" * 50_000) == "x" * 100_000
        with pytest.raises(RequestError, match="100002 bytes"):
            await home.app.slash.expand("/big " + "x" * 50_001)


@pytest.mark.req("SKL-61")
async def test_the_transcript_keeps_what_was_typed_and_hooks_see_what_it_became(machine: Machine) -> None:
    seen: list[str] = []

    def look(event: hilt.HookInput) -> None:
        seen.append(event.prompt)

    skill(machine.user_dir / "skills", "do", "Do $1.")
    hook = hilt.hook("UserPromptSubmit")(look)
    async with house(machine.root, config=machine.load(), hooks=[hook]) as home:
        session = await home.app.sessions.create()
        home.model.add({"text": "ok"})
        expanded = await home.app.slash.expand("/do it")
        assert expanded is not None
        run = session.prompt(expanded, typed="/do it")
        async for _ in run:
            pass
        result = await run.finished()
        stored = record_from_json(json.loads(json.dumps(record_to_json(session.record))))
    assert result is not None
    assert (result.stop_reason, seen) == (StopReason.END_TURN, ["Do it."])
    assert stored.messages[0] == UserMessage(text="Do it.", typed="/do it")


@pytest.mark.req("SKL-81")
@pytest.mark.parametrize("place", [".hilt/skills", ".hilt/commands", ".agents/skills", ".claude/skills"])
async def test_writing_where_skills_lie_is_asked_in_every_mode(machine: Machine, place: str) -> None:
    flags = Flags(tools="files", allow=("Write", "Copy"), mode="accept-edits")
    async with house(machine.root, config=machine.load(flags, HILT_SANDBOX="1")) as home:
        for mode in ("accept-edits", "auto", "default"):
            session = await home.app.sessions.create(mode=mode)
            denied = await session.call_tool("Write", json.dumps({"path": f"{place}/x/SKILL.md", "content": "x"}))
            allowed = await session.call_tool("Write", json.dumps({"path": f"{mode}.md", "content": "x"}))
            assert (denied.is_error, allowed.is_error) == (True, False)
            assert "no approver was present" in denied.content
    assert not (machine.root / place).exists()


@pytest.mark.req("SKL-81")
async def test_writing_where_chosen_skills_lie_is_asked_too(machine: Machine) -> None:
    skill(machine.root / "team" / "skills", "do", "Do.")
    skill(machine.user_dir / "skills", "mine", "Do.")
    flags = Flags(
        tools="files", allow=("*",), mode="auto", skills_dirs=("team/skills",), add_dirs=(str(machine.user_dir),)
    )
    asked = {
        "Write": {"path": "team/skills/new/SKILL.md", "content": "x"},
        "Edit": {"path": "team/skills/do/SKILL.md", "old_string": "Do.", "new_string": "x"},
        "Move": {"source": "team", "destination": "other"},
        "Copy": {"source": "free.md", "destination": str(machine.user_dir / "skills" / "new" / "SKILL.md")},
    }
    async with house(machine.root, config=machine.load(flags, HILT_SANDBOX="1")) as home:
        session = await home.app.sessions.create()
        free = await session.call_tool("Write", '{"path": "free.md", "content": "x"}')
        results = {tool: await session.call_tool(tool, json.dumps(args)) for tool, args in asked.items()}
    assert not free.is_error
    assert [tool for tool, result in results.items() if "no approver was present" not in result.content] == []


@pytest.mark.req("SKL-81")
async def test_where_the_workspace_itself_holds_the_skills_every_write_is_asked(machine: Machine) -> None:
    skill(machine.root, "do", "Do.")
    flags = Flags(tools="files", allow=("Write",), skills_dirs=(".",), add_dirs=(str(machine.user_dir.parent),))
    machine.user_dir.mkdir(parents=True)
    async with house(machine.root, config=machine.load(flags)) as home:
        session = await home.app.sessions.create()
        inside = await session.call_tool("Write", '{"path": "new/SKILL.md", "content": "x"}')
        beside = {"path": str(machine.user_dir.parent / "free.md"), "content": "x"}
        outside = await session.call_tool("Write", json.dumps(beside))
    assert ("no approver was present" in inside.content, outside.is_error) == (True, False)
