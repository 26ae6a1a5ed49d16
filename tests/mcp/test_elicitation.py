import json
from collections.abc import Callable, Mapping

import anyio
import anyio.abc
import pytest

from hilt.adapters.mcp_dialer import SdkDialer
from hilt.core.mcp import McpLimits
from hilt.core.tool import ToolCall
from hilt.mcp.background import background_tasks
from hilt.mcp.elicitation import asker
from hilt.mcp.manager import McpManager
from hilt.ports.elicitation import ElicitAnswer, Elicitation, Elicitor
from hilt.ports.mcp import Asker
from hilt.ports.tool import Environment
from hilt.testing.mcp import FakeConnection, FakeDialer
from tests.mcp.mount import TEXT, TOOLS, call, one_server
from tests.mcp_servers.kit import http_spec, tool_of
from tests.mcp_servers.raw_http import INITIALIZED, Answer, Received, http, raw_server, result, says, stream_head

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 30}},
    "required": ["name"],
}
FORM = {"message": "Who\x07 are you?", "requestedSchema": SCHEMA}


class Person:
    """Gives the answers in order, and keeps what it was asked."""

    def __init__(self, *answers: ElicitAnswer) -> None:
        self._answers = list(answers)
        self.asked: list[Elicitation] = []

    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        self.asked.append(asked)
        return self._answers.pop(0)


class Crashing:
    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        raise RuntimeError("no terminal")


def accept(**content: object) -> ElicitAnswer:
    return ElicitAnswer(action="accept", content=content)


def env_of(person: object, *, session: str = "ses_1", keep_alive: Callable[[], None] | None = None) -> Environment:
    return Environment(services={Elicitor: person}, session_id=session, keep_alive=keep_alive)


async def answered(person: object, params: Mapping[str, object]) -> Mapping[str, object]:
    found = asker(env_of(person), "far")
    assert found is not None
    return await found.elicit(params)


@pytest.mark.req("MCP-73")
async def test_an_answer_that_fits_the_schema_is_given_with_its_defaults() -> None:
    person = Person(accept(name="Ada"))
    assert await answered(person, FORM) == {"action": "accept", "content": {"name": "Ada", "age": 30}}
    assert person.asked == [Elicitation(server="far", message="Who are you?", session_id="ses_1", schema=SCHEMA)]


@pytest.mark.req("MCP-73")
async def test_an_answer_that_does_not_fit_is_asked_again_with_the_problem() -> None:
    person = Person(accept(age=3), accept(name="Ada"))
    assert (await answered(person, FORM))["action"] == "accept"
    assert "name" in person.asked[1].problem


@pytest.mark.req("MCP-73")
async def test_three_answers_that_do_not_fit_decline(caplog: pytest.LogCaptureFixture) -> None:
    person = Person(*[accept(name=1)] * 3)
    assert await answered(person, FORM) == {"action": "decline"}
    assert "answer_does_not_fit" in caplog.text


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_what_a_person_refuses_is_told_as_it_is(action: str) -> None:
    person = Person(ElicitAnswer(action=action, content={"name": "x"}))  # type: ignore[arg-type]  # one of the actions
    assert await answered(person, FORM) == {"action": action}


@pytest.mark.req("MCP-74")
@pytest.mark.parametrize("url", ["https://id.example/login?state=1", "http://127.0.0.1:9/x", "http://localhost/x"])
async def test_a_url_is_shown_whole(url: str) -> None:
    person = Person(ElicitAnswer(action="accept"))
    asked = {"mode": "url", "message": "Sign in", "url": url, "elicitationId": "e1"}
    assert await answered(person, asked) == {"action": "accept"}
    assert person.asked == [Elicitation(server="far", message="Sign in", session_id="ses_1", url=url)]


@pytest.mark.req("MCP-74", "MCP-73")
@pytest.mark.parametrize(
    "asked",
    [
        {"mode": "url", "message": "m", "url": "http://example.com/"},
        {"mode": "url", "message": "m", "url": "file:///etc/passwd"},
        {"mode": "url", "message": "m"},
        {"mode": "form", "message": "m"},
        {"mode": "dance", "message": "m", "requestedSchema": SCHEMA},
    ],
)
async def test_what_cannot_be_put_to_a_person_is_declined_and_shown_to_none(asked: Mapping[str, object]) -> None:
    person = Person()
    assert await answered(person, asked) == {"action": "decline"}
    assert person.asked == []


async def test_an_elicitor_that_crashes_declines(caplog: pytest.LogCaptureFixture) -> None:
    assert await answered(Crashing(), FORM) == {"action": "decline"}
    assert "elicitor_crashed" in caplog.text


async def test_a_schema_that_cannot_be_used_is_told_to_the_person_and_declined() -> None:
    person = Person(*[accept(name="x")] * 3)
    broken = {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": float("nan")}, "$ref": 5}}
    assert (await answered(person, broken))["action"] in ("decline", "accept")


def test_without_an_elicitor_nobody_answers() -> None:
    assert asker(Environment(), "far") is None


@pytest.mark.req("MCP-75")
async def test_the_idle_limit_rests_while_a_person_thinks() -> None:
    alive: list[None] = []
    thought = anyio.Event()

    class Slow:
        async def elicit(self, asked: Elicitation) -> ElicitAnswer:
            await thought.wait()
            return accept(name="x")

    found = asker(env_of(Slow(), keep_alive=lambda: alive.append(None)), "far")
    assert found is not None
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(_asked, found)
            while len(alive) < 2:
                await anyio.sleep(0.01)
            thought.set()


async def _asked(found: Asker) -> None:
    assert (await found.elicit(FORM))["action"] == "accept"


async def test_a_call_carries_who_answers_for_its_session() -> None:
    connection = FakeConnection({"tools/call": lambda params: TEXT}, tools=TOOLS)
    async with one_server(FakeDialer(connection)) as server:
        await call(server, "note", env=env_of(Person()))
    assert connection.asker is not None
    assert connection.asker.session_id == "ses_1"


# ---------------------------------------------------------------- over the wire

ELICIT = {"jsonrpc": "2.0", "id": "e-1", "method": "elicitation/create", "params": FORM}


class Wire:
    """A handshake server whose tool asks before it answers."""

    def __init__(self) -> None:
        self.answers: list[Mapping[str, object]] = []
        self.replied = anyio.Event()
        self.waiting: list[Received] = []
        self.stream: anyio.abc.SocketStream | None = None

    async def called(self, request: Received, stream: anyio.abc.SocketStream) -> None:
        await stream.send(stream_head() + b"data: " + json.dumps(ELICIT).encode() + b"\n\n")
        await self.replied.wait()
        await stream.send(b"data: " + result(request, TEXT) + b"\n\n")
        await stream.aclose()

    async def reply(self, request: Received, stream: anyio.abc.SocketStream) -> None:
        self.answers.append(request.rpc)
        self.replied.set()
        await stream.send(http(b"", status="202 Accepted"))

    async def standing(self, request: Received, stream: anyio.abc.SocketStream) -> None:
        self.stream = stream
        await stream.send(stream_head())
        await anyio.sleep_forever()


async def _mounted_call(
    wire: Wire, envs: list[Environment], *, elicits: bool = True, **answers: Answer
) -> list[Mapping[str, object]]:
    usual: dict[str, Answer] = {"tools__call": wire.called, "": wire.reply}
    async with raw_server(**{**usual, **answers}) as server, background_tasks() as tasks:
        dialer = SdkDialer(tasks, elicits=elicits)
        manager = McpManager([http_spec(server.url, protocol="handshake")], dialer, limits=McpLimits())
        with anyio.fail_after(10):
            await manager.start(tasks)
            async with anyio.create_task_group() as group:
                for env in envs:
                    group.start_soon(tool_of(manager, "t").execute, ToolCall("c", "x", "{}"), env)
            hello = next(request.rpc for request in server.received if request.method == "initialize")
        await manager.close()
    return [hello, *wire.answers]


@pytest.mark.req("MCP-73")
async def test_an_elicitation_on_a_call_s_stream_goes_to_that_call_s_session() -> None:
    person, other = Person(accept(name="Ada")), Person()
    wire = Wire()

    async def wait(request: Received, stream: anyio.abc.SocketStream) -> None:
        await wire.called(request, stream)

    hello, *answers = await _mounted_call(wire, [env_of(person, session="one")], tools__call=wait)
    params = hello["params"]
    assert isinstance(params, dict)
    assert params["capabilities"] == {"elicitation": {"form": {}, "url": {}}}
    assert [answer.get("result") for answer in answers] == [{"action": "accept", "content": {"name": "Ada", "age": 30}}]
    assert [asked.session_id for asked in person.asked] == ["one"]
    assert other.asked == []


@pytest.mark.req("MCP-73")
async def test_with_nobody_there_an_elicitation_is_declined_and_not_offered() -> None:
    hello, *answers = await _mounted_call(Wire(), [Environment()], elicits=False)
    params = hello["params"]
    assert isinstance(params, dict)
    assert params["capabilities"] == {}
    assert [answer.get("result") for answer in answers] == [{"action": "decline"}]


@pytest.mark.req("MCP-73")
@pytest.mark.parametrize(("sessions", "action"), [(["one", "two"], "decline"), (["one", "one"], "accept")])
async def test_an_elicitation_of_no_call_goes_to_the_only_session_or_to_none(sessions: list[str], action: str) -> None:
    person = Person(*[accept(name="Ada")] * 2)
    wire = Wire()

    async def wait(request: Received, stream: anyio.abc.SocketStream) -> None:
        wire.waiting.append(request)
        if len(wire.waiting) == 2:
            while wire.stream is None:
                await anyio.sleep(0.005)
            await wire.stream.send(b"data: " + json.dumps(ELICIT).encode() + b"\n\n")
        await wire.replied.wait()
        await stream.send(http(result(request, TEXT)))

    envs = [env_of(person, session=session) for session in sessions]
    _, *answers = await _mounted_call(wire, envs, tools__call=wait, standing=wire.standing)
    results = [answer["result"] for answer in answers]
    assert [each["action"] for each in results if isinstance(each, dict)] == [action]
    assert len(person.asked) == (1 if action == "accept" else 0)


@pytest.mark.req("MCP-46", "MCP-73")
async def test_input_that_a_stateless_call_requires_is_asked_of_its_session() -> None:
    person = Person(accept(name="Ada"))

    async def called(request: Received, stream: anyio.abc.SocketStream) -> None:
        params = request.rpc["params"]
        assert isinstance(params, dict)
        if "inputResponses" not in params:
            asked = {"who": {"method": "elicitation/create", "params": FORM}}
            required = {"resultType": "input_required", "inputRequests": asked, "requestState": "s"}
            await stream.send(http(result(request, required)))
            return
        said = json.dumps([params["inputResponses"], params["requestState"]])
        await stream.send(http(result(request, {"content": [{"type": "text", "text": said}]})))

    discovered = {**INITIALIZED, "supportedVersions": ["2026-07-28"]}
    async with (
        raw_server(tools__call=called, server__discover=says(discovered)) as server,
        background_tasks() as tasks,
    ):
        manager = McpManager([http_spec(server.url)], SdkDialer(tasks, elicits=True))
        with anyio.fail_after(10):
            await manager.start(tasks)
            done = await tool_of(manager, "t").execute(ToolCall("c", "x", "{}"), env_of(person))
        await manager.close()
    answer = {"action": "accept", "content": {"name": "Ada", "age": 30}}
    assert json.loads(done.content) == [{"who": answer}, "s"]
