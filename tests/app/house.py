"""A running application with a model that a test writes turns for, and everything that its sessions did."""

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hilt.app.application import App
from hilt.app.build import build
from hilt.core.event import Event, RunResult, ToolSettled
from hilt.core.mcp import McpServerSpec
from hilt.core.tool import ToolResult
from hilt.engine.session import Session
from hilt.ports.model import Capabilities
from hilt.testing import ScriptedModel

STDIO_REPLAY = Path(__file__).parents[1] / "bugs" / "inputs" / "replay" / "stdio_replay.py"


@dataclass(kw_only=True)
class House:
    """An application; `events` are those of all its sessions."""

    app: App
    model: ScriptedModel
    events: list[Event] = field(default_factory=list)

    async def turn(self, session: Session, *calls: Mapping[str, object]) -> list[ToolResult]:
        """Let the model make these calls in one answer and return their results, in order."""
        self.model.add({"calls": list(calls)}, {"text": "done"})
        return [
            event.body.result
            for event in [event async for event in session.prompt("go")]
            if isinstance(event.body, ToolSettled)
        ]

    async def run(self, session: Session, *answers: Mapping[str, object]) -> RunResult:
        """Run a prompt over whole answers and return how it ended."""
        self.model.add(*answers)
        run = session.prompt("go")
        async for _ in run:
            pass
        result = await run.finished()
        assert result is not None
        return result

    def listed(self, request: int = -1) -> list[str]:
        """Return the names that a model request listed, the last one's by default."""
        return [spec.name for spec in self.model.requests[request].tools]


@asynccontextmanager
async def house(root: Path, **options: object) -> AsyncIterator[House]:
    """Build an application over a folder; the options are those of `build`."""
    model = ScriptedModel(capabilities=Capabilities(profile="anthropic"))
    events: list[Event] = []
    async with build(workspace=root, model=model, on_event=events.append, **options) as app:  # type: ignore[arg-type]  # the options of build, checked there
        yield House(app=app, model=model, events=events)


def names(session: Session) -> list[str]:
    """Return the names that the session's next request would list."""
    return [spec.name for spec in session.specs()]


def script_server(folder: Path, name: str, tools: Sequence[Mapping[str, object]]) -> McpServerSpec:
    """Return an entry for a stdio server with these tools; what it received is in `folder / <name>.log`."""
    scenario = folder / f"{name}.json"
    answers = {
        f"tools/call:{tool['name']}": [{"result": {"content": [{"type": "text", "text": f"{name} {tool['name']}"}]}}]
        for tool in tools
    }
    scenario.write_text(json.dumps({"tools": list(tools), "on": answers}))
    return McpServerSpec(
        name=name,
        transport="stdio",
        command=sys.executable,
        args=(str(STDIO_REPLAY), str(scenario)),
        env={"REPLAY_LOG": str(folder / f"{name}.log")},
        connect_timeout_s=20.0,
    )


def remote(name: str, *, read_only: bool = True) -> dict[str, object]:
    """Return a tool of a server, as `tools/list` gives it."""
    return {
        "name": name,
        "description": f"{name} for tests.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": read_only},
    }
