"""The skills of `examples/skills`: they load everywhere, and what they tell to write works."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from skills_ref import validate

from hilt.adapters.skill_dir import SkillDirectory
from hilt.app.flags import Flags
from hilt.core.skill_draft import findings
from tests.app.house import house
from tests.app.places import Machine

SKILLS = Path(__file__).resolve().parents[2] / "examples" / "skills"
NAMES = ["write-a-custom-tool", "write-a-permission-file"]


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_is_good_for_skills_ref_and_nothing_in_it_stands_out(name: str) -> None:
    assert validate(SKILLS / name) == []
    assert findings((SKILLS / name / "SKILL.md").read_text()) == []


async def test_the_skills_are_activated_read_and_called(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with house(tmp_path, skill_sources=[SkillDirectory(SKILLS)], enable={"skills"}) as home:
        assert [meta.name for meta in home.app.skills.metas] == NAMES
        session = await home.app.sessions.create()
        for name in NAMES:
            text = (await session.call_tool("Skill", json.dumps({"name": name}))).content
            expanded = await home.app.slash.expand(f'/{name} "for bolts" and nuts')
            assert expanded is not None
            assert '"for bolts" and nuts' in expanded
            for asset in [line.split()[1] for line in text.splitlines() if line.startswith("- references/")]:
                call = json.dumps({"name": name, "asset": asset})
                assert (await session.call_tool("Skill", call)).content == (SKILLS / name / asset).read_text()
    assert caplog.records == []


@pytest.mark.parametrize(
    ("script", "printed"),
    [("function_tool.py", "400\nTrue\n"), ("class_tool.py", "note 1 kept\nTrue ['Buy bolts.']\n")],
)
def test_the_templates_of_tools_run(script: str, printed: str) -> None:
    path = SKILLS / "write-a-custom-tool" / "references" / script
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=50)
    assert (ran.stdout, ran.stderr) == (printed, "")


async def test_the_permission_file_decides_as_the_skill_says(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    machine.user_dir.mkdir(parents=True)
    shutil.copy(SKILLS / "write-a-permission-file" / "references" / "settings.yaml", machine.user_dir)
    async with house(machine.root, config=machine.load(Flags(tools="files"))) as home:
        session = await home.app.sessions.create()
        (machine.root / ".env.local").write_text("x")
        allowed = await session.call_tool("Write", '{"path": "docs/a.md", "content": "x"}')
        asked = await session.call_tool("Write", '{"path": "a.md", "content": "x"}')
        denied = await session.call_tool("Read", '{"path": ".env.local"}')
    assert (allowed.is_error, "no approver" in asked.content, "denies it" in denied.content) == (False, True, True)
