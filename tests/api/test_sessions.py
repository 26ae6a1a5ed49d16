"""The routes of sessions, each as the table of sessions.md section 5 has it."""

import re
from pathlib import Path
from urllib.parse import quote

import anyio
import pytest

from hilt.app.stores import Store
from tests.api.kit import kinds, seqs, served, until
from tests.flows.kit import Recorder, allow, ask, call, says
from tests.flows.session_kit import STORES, Held


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kind: str = request.param
    return STORES[kind](tmp_path)


@pytest.mark.req("SES-50", "SES-11")
async def test_a_session_is_made_runs_is_shown_listed_changed_closed_and_removed(tmp_path: Path, store: Store) -> None:
    answers = [{"text": "hello", "usage": {"input": 5, "output": 2}}, {"text": "again"}]
    async with served(tmp_path, *answers, store=store) as api:
        made = await api.ask("POST", "/v1/sessions", {"title": "first", "mode": "plan"})
        body = made.json()
        assert made.status_code == 201
        assert re.fullmatch(r"ses_[0-9a-f]{32}", body["session_id"])
        assert (body["mode"], body["tool_count"]) == ("plan", 0)
        path = f"/v1/sessions/{body['session_id']}"

        frames = await api.run(body["session_id"], "hi")
        assert kinds(frames)[0] == "run.start"
        assert kinds(frames)[-1] == "result"
        assert seqs(frames) == list(range(1, len(frames) + 1))
        assert [frame.data["type"] for frame in frames] == kinds(frames)
        shown = await api.get(path)
        assert {key: shown[key] for key in ("title", "state", "mode", "turns", "tool_calls", "pending_ask")} == {
            "title": "first",
            "state": "idle",
            "mode": "plan",
            "turns": 1,
            "tool_calls": 0,
            "pending_ask": None,
        }
        assert shown["usage"] == {"input": 5, "output": 2, "cache_read": 0, "cache_write": 0}

        changed = await api.ask("PATCH", path, {"title": "second", "mode": "default", "limits": {"max_turns": 3}})
        assert (changed.status_code, changed.json()["title"], changed.json()["mode"]) == (200, "second", "default")
        listed = await api.get("/v1/sessions")
        assert listed == {"sessions": [await api.get(path)], "next": ""}

        assert (await api.ask("DELETE", path)).status_code == 204
        assert (await api.ask("DELETE", path)).status_code == 204
        assert (await api.get(path))["state"] == "closed"
        assert kinds(await api.run(body["session_id"]))[-1] == "result"
        assert (await api.ask("POST", f"{path}/delete")).status_code == 204
        assert (await api.refused("GET", path))[:2] == (404, "not_found")
        assert (await api.refused("POST", f"{path}/delete"))[:2] == (404, "not_found")


@pytest.mark.req("SES-50")
async def test_sessions_are_listed_in_pages(tmp_path: Path, store: Store) -> None:
    async with served(tmp_path, store=store) as api:
        ids = [await api.create(id=f"s{number}") for number in range(5)]
        first = await api.get("/v1/sessions?limit=2")
        second = await api.get(f"/v1/sessions?limit=3&cursor={first['next']}")
        found = [*first["sessions"], *second["sessions"]]  # type: ignore[misc]  # lists, by the document
        assert [one["id"] for one in found] == ids
        assert second["next"] == ""
        assert (await api.refused("GET", "/v1/sessions?cursor=nonsense"))[:2] == (400, "bad_request")
        assert (await api.refused("GET", "/v1/sessions?limit=-1"))[:2] == (400, "bad_request")


@pytest.mark.req("SES-50")
@pytest.mark.parametrize("id_", ["a/b", "a/prompt", "é ü", "%2F", "a..b", "x?y=1#z"])
async def test_any_id_that_a_session_may_have_stands_in_a_path(tmp_path: Path, id_: str) -> None:
    async with served(tmp_path, {"text": "x"}) as api:
        assert await api.create(id=id_) == id_
        path = f"/v1/sessions/{quote(id_, safe='')}"
        assert (await api.get(path))["id"] == id_
        assert kinds(await api.all("POST", f"{path}/prompt", {"text": "go"}))[-1] == "result"
        assert (await api.refused("POST", "/v1/sessions", {"id": id_}))[:2] == (409, "conflict")
        assert (await api.refused("GET", "/v1/sessions/%ff"))[:2] == (404, "not_found")


@pytest.mark.req("SES-50")
async def test_a_second_prompt_is_busy_and_one_after_the_result_is_not(tmp_path: Path, store: Store) -> None:
    held = Held()
    answers = [{"calls": [call("Hold")]}, {"text": "one"}, *({"text": str(number)} for number in range(5))]
    async with served(tmp_path, *answers, store=store, tools=[held.tool()], rules=allow("Hold")) as api:
        id_ = await api.create()
        path = f"/v1/sessions/{id_}/prompt"
        async with api.stream("POST", path, {"text": "go"}) as frames:
            await until(frames, "tool.start")
            assert (await api.refused("POST", path, {"text": "again"}))[:2] == (409, "busy")
            assert (await api.get(f"/v1/sessions/{id_}"))["state"] == "running"
            held.go.set()
            await until(frames, "result")
            assert (await api.get(f"/v1/sessions/{id_}"))["state"] == "idle"
        for _ in range(5):
            assert kinds(await api.run(id_))[-1] == "result"


@pytest.mark.req("SES-50", "SES-56")
@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        ({"verdict": "allow_once"}, "ok"),
        ({"verdict": "allow_always"}, "ok"),
        ({"allow": True}, "ok"),
        ({"verdict": "deny", "message": "not now"}, "access_denied"),
        ({"allow": False}, "access_denied"),
    ],
)
async def test_an_ask_is_told_and_its_verdict_goes_on_with_the_run(
    tmp_path: Path, verdict: dict[str, object], outcome: str
) -> None:
    answers = [{"calls": [call("Send", {"to": "ann"})]}, {"text": "done"}]
    async with served(tmp_path, *answers, tools=[says("Send", "sent", read_only=False)], rules=ask("Send")) as api:
        id_ = await api.create()
        path = f"/v1/sessions/{id_}"
        async with api.stream("POST", f"{path}/prompt", {"text": "go"}) as frames:
            asked = (await until(frames, "permission.ask"))[-1].data
            pending = (await api.get(path))["pending_ask"]
            assert isinstance(pending, dict)
            assert (pending["ask_id"], pending["tool"], pending["arguments"]) == (
                asked["ask_id"],
                "Send",
                {"to": "ann"},
            )
            assert (await api.get(path))["state"] == "awaiting"
            answer = await api.ask("POST", f"{path}/approve", {"ask_id": asked["ask_id"], **verdict})
            assert answer.status_code == 204
            read = await until(frames, "result")
        settled = next(frame.data for frame in read if frame.event == "tool.result")
        assert (settled["code"] or "ok") == outcome
        again = await api.refused("POST", f"{path}/approve", {"ask_id": asked["ask_id"], **verdict})
        assert again[:2] == (409, "conflict")


@pytest.mark.req("SES-56")
@pytest.mark.parametrize("wrong", [{"verdict": "deny", "allow": False}, {}, {"verdict": "maybe"}, {"allow": "yes"}])
async def test_a_verdict_that_is_none_or_two_is_refused_and_the_ask_stays(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    answers = [{"calls": [call("Send")]}, {"text": "done"}]
    async with served(tmp_path, *answers, tools=[says("Send", read_only=False)], rules=ask("Send")) as api:
        path = f"/v1/sessions/{await api.create()}"
        async with api.stream("POST", f"{path}/prompt", {"text": "go"}) as frames:
            ask_id = (await until(frames, "permission.ask"))[-1].data["ask_id"]
            refusal = await api.refused("POST", f"{path}/approve", {"ask_id": ask_id, **wrong})
            assert refusal[:2] == (400, "bad_request")
            assert (await api.get(path))["state"] == "awaiting"
            await api.ask("POST", f"{path}/approve", {"ask_id": ask_id, "allow": True})
            await until(frames, "result")


@pytest.mark.req("SES-50")
async def test_cancel_ends_the_run_and_without_one_does_nothing(tmp_path: Path) -> None:
    held = Held()
    answers = [{"calls": [call("Hold")]}, {"text": "never"}]
    async with served(tmp_path, *answers, tools=[held.tool()], rules=allow("Hold")) as api:
        path = f"/v1/sessions/{await api.create()}"
        assert (await api.ask("POST", f"{path}/cancel")).status_code == 204
        async with api.stream("POST", f"{path}/prompt", {"text": "go"}) as frames:
            await until(frames, "tool.start")
            assert (await api.ask("POST", f"{path}/cancel")).status_code == 204
            assert (await until(frames, "result"))[-1].data["stop_reason"] == "cancelled"
        assert (await api.get(path))["state"] == "idle"


@pytest.mark.req("SES-50")
async def test_tools_of_a_session_are_those_of_its_next_request_and_calls_are_its_audit(
    tmp_path: Path, store: Store
) -> None:
    tools = [says("Look"), says("Send", read_only=False)]
    answers = [{"calls": [call("Look", id_=f"c{n}") for n in range(3)]}, {"text": "done"}]
    async with served(tmp_path, *answers, store=store, tools=tools, rules=allow("Look")) as api:
        id_ = await api.create(tools={"deny": ["Send", "ToolSearch", "ReadResult"]})
        path = f"/v1/sessions/{id_}"
        listed = (await api.get(f"{path}/tools"))["tools"]
        assert listed == [{"name": "Look", "description": "Look for tests.", "input_schema": {"type": "object"}}]
        assert (await api.get(f"{path}/calls")) == {"calls": [], "next": ""}
        await api.run(id_)
        first = await api.get(f"{path}/calls?limit=2")
        second = await api.get(f"{path}/calls?cursor={first['next']}")
        records = [*first["calls"], *second["calls"]]  # type: ignore[misc]  # lists, by the document
        assert [(one["tool"], one["call_id"], one["is_error"]) for one in records] == [
            ("Look", f"c{n}", False) for n in range(3)
        ]
        assert second["next"] == ""
        assert (await api.refused("GET", f"{path}/calls?cursor=x"))[:2] == (400, "bad_request")


@pytest.mark.req("SES-50")
async def test_a_prompt_may_be_parts_and_a_command_is_expanded(tmp_path: Path) -> None:
    class Greeting:
        def names(self) -> list[str]:
            return ["greet"]

        async def expand(self, line: str) -> str | None:
            return "say hello to " + line.split()[1] if line.startswith("/greet ") else None

    async with served(tmp_path, {"text": "a"}, {"text": "b"}, {"text": "c"}, skill_sources=[Greeting()]) as api:
        id_ = await api.create()
        image = {"kind": "image", "data": "iVBORw0KGgo=", "mime_type": "image/png"}
        path = f"/v1/sessions/{id_}/prompt"
        await api.all("POST", path, {"parts": [{"kind": "text", "text": "look"}, image]})
        frames = await api.run(id_, "/greet ann")
        assert frames[0].data["prompt"] == "say hello to ann"
        await api.run(id_, "/unknown ann")
        assert api.model.requests[-1].messages[-1].text == "/unknown ann"  # type: ignore[union-attr]  # what the user said
        wrongs: list[dict[str, object]] = [
            {},
            {"text": ""},
            {"text": "  "},
            {"parts": []},
            {"text": "a", "parts": [image]},
            {"parts": [{**image, "data": "*"}]},
            {"parts": [{**image, "mime_type": "text/html"}]},
            {"parts": [{"kind": "video"}]},
        ]
        for wrong in wrongs:
            assert (await api.refused("POST", path, wrong))[:2] == (400, "bad_request")


@pytest.mark.req("SES-50")
async def test_the_state_of_the_service_is_told_from_the_start_to_the_end(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        api.front.service = None
        assert (await api.get("/healthz")) == {"state": "ok"}
        assert (await api.refused("GET", "/readyz")) == (503, "unavailable", "the service is starting")
        assert (await api.refused("GET", "/v1/info"))[:2] == (503, "unavailable")
        api.front.service = api.service
        assert (await api.get("/readyz")) == {"state": "ready"}
        api.service.stopping = True
        assert (await api.refused("GET", "/readyz")) == (503, "unavailable", "the service is stopping")
        assert (await api.refused("POST", "/v1/sessions", {}))[:2] == (503, "unavailable")
        assert (await api.get("/healthz")) == {"state": "ok"}


@pytest.mark.req("SES-50")
async def test_an_unknown_route_or_method_is_refused_in_the_same_shape(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        assert (await api.refused("GET", "/v2"))[:2] == (404, "not_found")
        assert (await api.refused("GET", "/v1/sessions/x/y"))[:2] == (404, "not_found")
        refused = await api.ask("PUT", "/v1/sessions")
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, POST")
        assert refused.json()["error"]["code"] == "method_not_allowed"
        head = await api.client.head(f"{api.url}/healthz")
        assert (head.status_code, head.content) == (200, b"")
        assert (await api.client.head(f"{api.url}/v1/sessions/x/watch")).status_code == 405


async def test_what_crashes_is_told_in_one_sentence_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def names(self) -> list[str]:
            raise RuntimeError("a secret of ours")

        async def expand(self, line: str) -> str | None:
            return None

    async with served(tmp_path, skill_sources=[Broken()]) as api:
        status, code, message = await api.refused("GET", "/v1/commands")
        assert (status, code) == (500, "internal")
        assert "secret" not in message
    assert "request_failed" in caplog.text


@pytest.mark.req("SES-50")
async def test_an_audit_that_cannot_be_read_back_is_not_supported(tmp_path: Path) -> None:
    async with served(tmp_path, recorder=Recorder()) as api:
        path = f"/v1/sessions/{await api.create()}/calls"
        assert (await api.refused("GET", path))[:2] == (501, "unsupported")
        info = await api.get("/v1/info")
        assert info["features"]["calls"] is False  # type: ignore[index]  # an object, by the document


async def test_a_caller_that_leaves_in_the_middle_of_a_body_disturbs_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path) as api:
        host, _, port = api.url.removeprefix("http://").partition(":")
        for _ in range(3):
            async with await anyio.connect_tcp(host, int(port)) as stream:
                head = f"POST /v1/sessions HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n"
                await stream.send(head.encode() + b'{"title": "x"')
        assert (await api.get("/v1/sessions")) == {"sessions": [], "next": ""}
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
