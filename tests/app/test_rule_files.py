"""Rules of settings files in a running application: each session has them as they were when it was made."""

from pathlib import Path

import pytest

from hilt.app.build import build
from hilt.app.flags import Flags
from hilt.core.errors import ConfigError, ErrorCode
from hilt.core.event import Event, ToolSettled
from hilt.engine.session import Session
from tests.app.places import Machine


async def _code(session: Session, tool: str, args: str) -> str:
    codes: list[str] = []

    def take(event: Event) -> None:
        if isinstance(event.body, ToolSettled):
            codes.append(event.body.code)

    leave = session.subscribe(take)
    await session.call_tool(tool, args)
    leave()
    return codes[0]


@pytest.mark.req("PRM-35", "PRM-20")
async def test_a_session_keeps_the_rules_that_it_was_made_with(tmp_path: Path) -> None:
    machine = Machine.below(tmp_path)
    (machine.root / "a.txt").write_text("hello")
    config = machine.load(Flags())
    async with build(config=config) as app:
        before = await app.sessions.create()
        machine.shared("permissions: {deny: [Read]}")
        after = await app.sessions.create()
        assert await _code(before, "Read", '{"path": "a.txt"}') == ""
        assert await _code(after, "Read", '{"path": "a.txt"}') == ErrorCode.ACCESS_DENIED
        machine.shared("permissions:\n  deny: [Read\n")
        with pytest.raises(ConfigError, match=r"^\.hilt/settings\.yaml:"):
            await app.sessions.create()
        machine.shared("permissions:\n  denny: [Read]\n")
        with pytest.raises(ConfigError, match=r"^\.hilt/settings\.yaml:2: permissions\.denny"):
            await app.sessions.create()
        assert await _code(before, "Read", '{"path": "a.txt"}') == ""
