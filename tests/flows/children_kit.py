"""Models that answer each agent by its prompt, and a session whose agent starts children."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from hilt.adapters.model_scripted import play
from hilt.app.application import App
from hilt.app.build import build
from hilt.core.event import Event, EventBody, Notice, RunResult, ToolSettled
from hilt.core.script import parse_answer
from hilt.core.session import AssistantMessage, UserMessage
from hilt.core.tool import ToolResult
from hilt.engine.session import Session
from hilt.ports.child import ChildAgents
from hilt.ports.model import Capabilities, ModelItem, ModelRequest
from tests.flows.kit import Recorder, allow

Answer = Mapping[str, object]
Part = Callable[[ModelRequest], Answer]


class Cast:
    """A model that plays every agent of a session: which one is told by the prompt of its request.

    Each part gives its answers in order, from the first again after each prompt, and the last one for ever. `waits`
    of a part holds its requests until it is set; `requests` are the requests by part.
    """

    name = "scripted:cast"
    capabilities = Capabilities(profile="anthropic")

    def __init__(self, **parts: Sequence[Answer | Part]) -> None:
        self.parts = {name: list(answers) for name, answers in parts.items()}
        self.waits: dict[str, anyio.Event] = {}
        self.requests: dict[str, list[ModelRequest]] = {}
        self.asked = anyio.Event()

    def says(self, part: str, *answers: Answer | Part) -> None:
        """Give a part its answers, in place of those that it had."""
        self.parts[part] = list(answers)

    def seen(self, part: str) -> list[ModelRequest]:
        """Return the requests of one part."""
        return self.requests.get(part, [])

    def hold(self, part: str) -> anyio.Event:
        """Let the requests of a part wait until the event is set, and return that."""
        event = self.waits[part] = anyio.Event()
        return event

    async def reach(self, part: str, count: int = 1) -> None:
        """Wait until a part has sent so many requests."""
        while len(self.seen(part)) < count:
            self.asked = anyio.Event()
            await self.asked.wait()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """See `Model.stream`."""
        at = max(n for n, one in enumerate(request.messages) if isinstance(one, UserMessage) and not one.notice)
        prompt, since = getattr(request.messages[at], "text", ""), request.messages[at:]
        part = next(name for name in self.parts if prompt.startswith(name))
        self.requests.setdefault(part, []).append(request)
        self.asked.set()
        if part in self.waits:
            await self.waits[part].wait()
        answers = self.parts[part]
        given = answers[min(sum(isinstance(one, AssistantMessage) for one in since), len(answers) - 1)]
        answer = given(request) if callable(given) else given
        async for item in play(parse_answer(answer, source=part, line=1), request.turn):
            yield item


class Stage:
    """A session with a cast, and everything that it did."""

    def __init__(self, app: App, session: Session, cast: Cast, events: list[Event], recorder: Recorder) -> None:
        self.app = app
        self.session = session
        self.cast = cast
        self.events = events
        self.recorder = recorder

    async def play(self, *answers: Answer, prompt: str = "main") -> list[ToolResult]:
        """Let the session's agent give these answers, then end, and return the results of its calls."""
        self.cast.says(prompt, *answers, {"text": "done"})
        begun = len(self.events)
        async with self.session.prompt(prompt) as run:
            async for _ in run:
                pass
        return [event.body.result for event in self.events[begun:] if isinstance(event.body, ToolSettled)]

    async def one(self, name: str, **args: object) -> dict[str, object]:
        """Make one call and return the JSON of its result."""
        (result,) = await self.play({"calls": [{"name": name, "args": args}]})
        body: dict[str, object] = json.loads(result.content)
        return body

    async def spawn(self, prompt: str, **args: object) -> str:
        """Start a child in the background and return its id."""
        body = await self.one("agent_spawn", prompt=prompt, **args)
        assert body.get("state") == "running", body
        return str(body["agent_id"])

    async def ended(self, id_: str) -> dict[str, object]:
        """Wait for the end of a child and return its status."""
        return await self.one("agent_status", agent_id=id_, wait_secs=30)

    @property
    def children(self) -> ChildAgents:
        """The child agents of the session."""
        return self.session.env.service(ChildAgents)  # type: ignore[type-abstract]  # the host names it by its port

    async def all_ended(self) -> None:
        """Wait until no child runs."""
        for child in self.children.children():
            await self.children.report(child.id, wait_s=20)

    @property
    def bodies(self) -> list[EventBody]:
        """The events without their envelopes."""
        return [event.body for event in self.events]

    @property
    def told(self) -> list[str]:
        """What the session's agent was told in notices, by its last request."""
        messages = self.cast.seen("main")[-1].messages
        return [one.text for one in messages if isinstance(one, UserMessage) and one.notice]

    def notices(self, topic: str) -> list[str]:
        """Return the texts of the notices of a topic, as events."""
        return [body.text for body in self.bodies if isinstance(body, Notice) and body.topic == topic]

    @property
    def result(self) -> RunResult:
        """How the last run ended."""
        return [body for body in self.bodies if isinstance(body, RunResult)][-1]


@asynccontextmanager
async def stage(root: Path, cast: Cast, **options: object) -> AsyncIterator[Stage]:
    """Build an application whose session may start child agents; the options are those of `build`."""
    recorder = Recorder()
    events: list[Event] = []
    session = dict(options.pop("session", {}))  # type: ignore[call-overload]  # keywords of create, checked there
    options.setdefault("enable", {"agents", "delegation"})
    options.setdefault("rules", allow("agent_*", "Subagent", "Look", "Change"))
    options.setdefault("recorder", recorder)
    with anyio.fail_after(30):
        async with build(workspace=root, model=cast, on_event=events.append, **options) as app:  # type: ignore[arg-type]  # the options of build, checked there
            yield Stage(app, await app.sessions.create(**session), cast, events, recorder)


def subagent(prompt: str, **args: object) -> dict[str, object]:
    """Return a call of Subagent."""
    return {"name": "Subagent", "args": {"prompt": prompt, **args}}


def id_of(result: ToolResult) -> str:
    """Return the id of the child that a result of Subagent names."""
    return result.content.rpartition("agent_id: ")[2].strip('"}\n ')
