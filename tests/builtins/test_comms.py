"""The tools of the category comms: their rows, and what two agents of one process see."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from hilt.adapters.peer_ed25519 import PeerKey
from hilt.app.config import Config
from hilt.app.settings import CommsSettings, PeerSettings
from hilt.builtins.comms import comms_tools
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.peer import Directory, InProcess, Peer
from hilt.core.permission import Subject, Subjects
from hilt.core.session import UserMessage
from hilt.core.tool import ToolCall
from hilt.engine.function_tool import tool as function_tool
from hilt.ports.peer import PeerKeys
from hilt.ports.tool import Environment, Tool
from tests.app.house import House, house, names
from tests.flows.kit import allow, call, deny

TEXT = {"type": "string"}
STATUS = {"type": "string", "enum": ["accepted", "completed", "failed"]}
ANY: dict[str, object] = {}
ROWS: dict[str, dict[str, object]] = {
    "send_message": {"to": TEXT, "body": TEXT},
    "send_request": {"to": TEXT, "intent": TEXT, "params": ANY},
    "send_response": {"to": TEXT, "in_reply_to": TEXT, "status": STATUS, "result": ANY},
    "list_peers": {},
}
REQUIRED = {
    "send_message": ["to", "body"],
    "send_request": ["to", "intent"],
    "send_response": ["to", "in_reply_to", "status"],
}
BOB = PeerKey.new()
DIRECTORY = Directory(peers=(Peer(name="bob", id=BOB.id, address=InProcess()),))
TOOLS = {tool.spec.name: tool for tool in comms_tools(DIRECTORY)}
REQUEST = "019a0000000070008000000000000001"


def body(content: str) -> dict[str, object]:
    value: dict[str, object] = json.loads(content)
    return value


@pytest.mark.req("BLT-07", "BLT-08")
@pytest.mark.parametrize("name", ROWS)
def test_a_tool_is_its_row(name: str) -> None:
    tool = TOOLS[name]
    assert isinstance(tool, Tool)
    assert tool.read_only is (name == "list_peers")
    schema = dict(tool.spec.schema)
    properties = schema.pop("properties")
    assert isinstance(properties, dict)
    assert all(node.pop("description") for node in properties.values())
    assert properties == ROWS[name]
    required = {"required": REQUIRED[name]} if name in REQUIRED else {}
    assert schema == {"type": "object", "additionalProperties": False, **required}


@pytest.mark.parametrize("name", ROWS)
def test_a_description_says_when_to_use_it_and_when_not(name: str) -> None:
    text = TOOLS[name].spec.description
    assert len(text) >= 100
    assert "Use it " in text
    assert "Do not use it " in text


@pytest.mark.req("PRM-10")
@pytest.mark.parametrize("to", ["bob", BOB.id], ids=["name", "id"])
def test_patterns_see_the_peer_by_its_name_and_the_intent(to: str) -> None:
    def subjects(name: str, **args: object) -> Subjects:
        found: Subjects = TOOLS[name].subjects(ToolCall("c1", name, json.dumps({"to": to, **args})))  # type: ignore[attr-defined]  # an optional member
        return found

    peer = (Subject(text="bob", also=(BOB.id, to)),)
    alone = Subjects(unnamed=peer, named={"to": peer})
    assert subjects("send_message", body="x") == alone
    assert subjects("send_response", in_reply_to=REQUEST, status="failed") == alone
    intent = {"intent": (Subject(text="build"),)}
    assert subjects("send_request", intent="build") == Subjects(unnamed=peer, named={"to": peer, **intent})


@pytest.mark.parametrize(
    ("name", "args", "fault"),
    [
        ("send_message", {"to": "eve", "body": "x"}, "to: there is no peer 'eve'; the peers are: bob"),
        ("send_request", {"to": "", "intent": "x"}, "to: there is no peer ''"),
        ("send_response", {"to": "bob", "in_reply_to": "x", "status": "failed"}, "in_reply_to: 'x' is no id"),
        ("send_response", {"to": "eve", "in_reply_to": REQUEST, "status": "failed"}, "no peer 'eve'"),
    ],
)
async def test_what_names_no_peer_or_request_is_refused(name: str, args: object, fault: str) -> None:
    with pytest.raises(ToolError) as caught:
        await TOOLS[name].execute(ToolCall("c1", name, json.dumps(args)), Environment())
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert fault in caught.value.reason


async def test_a_session_without_peers_says_so() -> None:
    with pytest.raises(ToolError, match="has no peers") as caught:
        await TOOLS["send_message"].execute(ToolCall("c1", "send_message", '{"to": "bob", "body": "x"}'), Environment())
    assert caught.value.code is ErrorCode.TOOL_UNAVAILABLE


# ---------------------------------------------------------------- agents of one process


@asynccontextmanager
async def agents(root: Path, *rules: str, tools: Sequence[Tool] = ()) -> AsyncIterator[tuple[House, House]]:
    """Build Ann and Bob, who are each other's peers."""
    keys = {"ann": PeerKey.new(), "bob": PeerKey.new()}
    async with AsyncExitStack() as stack:
        found = []
        for name, other in (("ann", "bob"), ("bob", "ann")):
            comms = CommsSettings(peers=(PeerSettings(name=other, key=keys[other].id),))
            found.append(
                await stack.enter_async_context(
                    house(
                        root,
                        config=Config(comms=comms),
                        services={PeerKeys: keys[name]},
                        rules=allow(*(rules or ("send_*",))),
                        tools=tools,
                        enable_comms=True,
                    )
                )
            )
        yield found[0], found[1]


def read(home: House) -> list[str]:
    """Return the notices that the last model request held."""
    return [m.text for m in home.model.requests[-1].messages if isinstance(m, UserMessage) and m.notice]


@pytest.mark.req("BLT-09", "BLT-85", "BLT-86", "BLT-88")
async def test_two_agents_exchange_a_message_a_request_and_its_response(tmp_path: Path) -> None:
    async with agents(tmp_path) as (ann, bob):
        hers, his = await ann.app.sessions.create(), await bob.app.sessions.create()
        assert set(names(hers)) == {*ROWS, "ReadResult"}
        sent, asked, listed = await ann.turn(
            hers,
            call("send_message", {"to": "bob", "body": "Good morning."}),
            call("send_request", {"to": "bob", "intent": "build", "params": {"tag": "v1"}}),
            call("list_peers"),
        )
        assert body(sent.content).keys() == body(asked.content).keys() == {"status", "id"}
        assert body(sent.content)["status"] == "sent"
        key = ann.app.config.comms.peers[0].key
        assert body(listed.content) == {"peers": [{"name": "bob", "peer_id": key, "address": "in-process"}]}
        request = body(asked.content)["id"]
        (answered,) = await bob.turn(
            his,
            call("send_response", {"to": "ann", "in_reply_to": request, "status": "completed", "result": ["v1"]}),
        )
        assert not answered.is_error
        (notice,) = read(bob)
        assert "[message " in notice
        assert "\nGood morning.\n" in notice
        assert '\nintent: build\nparams: {"tag": "v1"}\n' in notice
        assert f'send_response with to="ann", in_reply_to="{request}"' in notice
        await ann.turn(hers, call("list_peers"))
        (notice,) = read(ann)
        assert f"request {request} is completed]" in notice
        assert '\nresult: ["v1"]\n' in notice
        await bob.turn(his, call("list_peers"))
        assert len(read(bob)) == 1


@pytest.mark.req("BLT-88")
async def test_what_comes_in_during_a_run_is_read_at_its_next_turn(tmp_path: Path) -> None:
    async def waits(text: str) -> str:
        """Wait until Bob has written."""
        await bob.turn(his, call("send_message", {"to": "ann", "body": text}))
        return text

    async with agents(tmp_path, "send_*", "waits", tools=[function_tool(waits)]) as (ann, bob):
        hers, his = await ann.app.sessions.create(), await bob.app.sessions.create()
        said = [{"calls": [call("waits", {"text": text})]} for text in ("one", "two")]
        assert (await ann.run(hers, *said, {"text": "done"})).stop_reason == "end_turn"
        texts = ["\n".join(m.text for m in one.messages if isinstance(m, UserMessage)) for one in ann.model.requests]
    assert [[text.count(f"\n{word}\n") for word in ("one", "two")] for text in texts] == [[0, 0], [1, 0], [1, 1]]


@pytest.mark.req("BLT-89")
@pytest.mark.parametrize("profile", ["", "no-fs"])
async def test_without_a_peer_the_tools_are_not_listed_and_a_call_is_unavailable(tmp_path: Path, profile: str) -> None:
    async with house(tmp_path, enable={"comms"}, rules=allow("*")) as home:
        session = await home.app.sessions.create(profile=profile)
        assert set(names(session)) & set(ROWS) == set()
        results = await home.turn(
            session,
            call("list_peers"),
            call("send_message", {"to": "bob", "body": "x"}),
            call("send_request", {"to": "bob", "intent": "x"}),
            call("send_response", {"to": "bob", "in_reply_to": REQUEST, "status": "failed"}),
        )
    assert [body(result.content)["error"] for result in results] == ["tool_unavailable"] * 4
    assert "this agent has no peers; `comms.peers` of the settings lists none" in results[0].content


@pytest.mark.req("BLT-08", "PRM-25")
async def test_sending_is_asked_and_the_peer_is_what_rules_name(tmp_path: Path) -> None:
    async with agents(tmp_path, "send_request(bob)") as (ann, bob):
        hers = await ann.app.sessions.create()
        await bob.app.sessions.create()
        by_id = ann.app.config.comms.peers[0].key
        asked, message, request = await ann.turn(
            hers,
            call("list_peers"),
            call("send_message", {"to": "bob", "body": "x"}),
            call("send_request", {"to": by_id, "intent": "x"}),
        )
        assert [asked.is_error, message.is_error, request.is_error] == [False, True, False]
        assert body(message.content)["error"] == "access_denied"
    keys = CommsSettings(peers=(PeerSettings(name="bob", key=BOB.id),))
    rules = [*allow("send_message"), *deny(f"send_message({BOB.id})")]
    services = {PeerKeys: PeerKey.new()}
    async with house(tmp_path, config=Config(comms=keys), services=services, rules=rules, enable_comms=True) as home:
        (denied,) = await home.turn(await home.app.sessions.create(), call("send_message", {"to": "bob", "body": "x"}))
        assert body(denied.content)["error"] == "access_denied"
