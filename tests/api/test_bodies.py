"""Bodies are read strictly: what is not known, of a wrong type, or too large is refused and nothing is done."""

import contextlib
import json
from pathlib import Path

import anyio
import pytest

from tests.api.kit import Api, served

UNKNOWN = [
    ("POST", "/v1/sessions", {"titel": "x"}, "titel"),
    ("POST", "/v1/sessions", {"tools": {"alow": []}}, "alow"),
    ("POST", "/v1/sessions", {"limits": {"max_mice": 1}}, "max_mice"),
    ("POST", "/v1/sessions", {"mcp_servers": [{"name": "a", "url": "https://a.example", "tools": {"x": 1}}]}, "x"),
    ("PATCH", "/v1/sessions/s", {"model": "x"}, "model"),
    ("PATCH", "/v1/sessions/s", {"tools": {"denied": []}}, "denied"),
    ("POST", "/v1/sessions/s/prompt", {"text": "a", "stream": True}, "stream"),
    ("POST", "/v1/sessions/s/prompt", {"parts": [{"kind": "text", "text": "a", "more": 1}]}, "more"),
    ("POST", "/v1/sessions/s/approve", {"ask_id": "a", "allow": True, "forever": True}, "forever"),
]

WRONG = [
    ("POST", "/v1/sessions", {"title": 1}, "title"),
    ("POST", "/v1/sessions", {"title": "x" * 501}, "title"),
    ("PATCH", "/v1/sessions/s", {"title": "x" * 501}, "title"),
    ("POST", "/v1/sessions", {"tools": {"deny": ["a", 2]}}, "tools.deny[1]"),
    ("POST", "/v1/sessions", {"limits": {"max_turns": "3"}}, "limits.max_turns"),
    ("POST", "/v1/sessions", {"mode": "yolo"}, "mode"),
    ("POST", "/v1/sessions", {"mcp_servers": [{"name": "a", "url": 7}]}, "mcp_servers[0].url"),
    ("POST", "/v1/sessions", {"mcp_servers": [{"name": "a"}]}, "mcp_servers[0]"),
    ("PATCH", "/v1/sessions/s", {"title": None}, "title"),
    ("POST", "/v1/sessions/s/prompt", {"parts": [{"kind": "text", "text": None}]}, "parts[0].text"),
    ("POST", "/v1/sessions/s/approve", {"ask_id": "a", "allow": 1}, "allow"),
]


async def _unchanged(api: Api, method: str, path: str, body: object) -> str:
    """Send what is refused with 400, and return the message; nothing was made or changed."""
    before = await api.get("/v1/sessions")
    status, code, message = await api.refused(method, path, body)
    assert (status, code) == (400, "bad_request")
    assert await api.get("/v1/sessions") == before
    return message


@pytest.mark.req("SES-51")
@pytest.mark.parametrize(("method", "path", "body", "key"), UNKNOWN)
async def test_an_unknown_key_at_any_depth_is_named(
    tmp_path: Path, method: str, path: str, body: object, key: str
) -> None:
    async with served(tmp_path) as api:
        await api.create(id="s", title="old")
        assert f"`{key}`" in await _unchanged(api, method, path, body)


@pytest.mark.req("SES-51")
@pytest.mark.parametrize(("method", "path", "body", "at"), WRONG)
async def test_a_wrong_type_is_told_with_its_path(
    tmp_path: Path, method: str, path: str, body: object, at: str
) -> None:
    async with served(tmp_path) as api:
        await api.create(id="s", title="old")
        assert f"`{at}`" in await _unchanged(api, method, path, body)


@pytest.mark.req("SES-51")
@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff\xfe", b'{"title": "\\ud800"}', b"[" * 100_000, b"null", b"{}{}"])
async def test_what_is_no_object_is_refused(tmp_path: Path, body: bytes) -> None:
    async with served(tmp_path) as api:
        assert (await api.refused("POST", "/v1/sessions", content=body))[:2] == (400, "bad_request")


@pytest.mark.req("SES-51")
async def test_every_known_key_is_taken(tmp_path: Path) -> None:
    body = {
        "id": "mine",
        "title": "t",
        "mode": "plan",
        "system_prompt": "be short",
        "profile": "no-fs",
        "categories": [],
        "tools": {"allow": ["Read"], "deny": ["Write"]},
        "limits": {"max_turns": 3, "max_seconds": 1.5, "max_tokens": None},
        "mcp_servers": [],
    }
    async with served(tmp_path) as api:
        await api.create(**body)
        record = await api.app.sessions.show("mine")
        assert (record.title, record.mode, record.system_prompt, record.profile) == ("t", "plan", "be short", "no-fs")
        assert (record.enable, record.tools.allow, record.tools.deny) == ((), ("Read",), ("Write",))
        assert record.limits == {"max_turns": 3, "max_seconds": 1.5}
        assert (await api.ask("POST", "/v1/sessions")).status_code == 201


@pytest.mark.req("SES-53")
async def test_a_profile_and_categories_only_take_away(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    async with served(tmp_path, enable={"files", "tasks"}) as api:
        whole = await api.create()
        less = await api.create(categories=["files.read"])
        none = await api.create(profile="no-fs")
        listed = {
            id_: [tool["name"] for tool in (await api.get(f"/v1/sessions/{id_}/tools"))["tools"]]  # type: ignore[attr-defined]  # a list, by the document
            for id_ in (whole, less, none)
        }
        assert {"Read", "Write", "task_list"} <= set(listed[whole])
        assert {"Read", "Write", "task_list"} & set(listed[less]) == {"Read"}
        assert {"Read", "Write", "task_list"} & set(listed[none]) == {"task_list"}
        for wrong in ({"profile": "root"}, {"profile": ""}, {"categories": ["shell"]}, {"categories": ["nonsense"]}):
            await _unchanged(api, "POST", "/v1/sessions", wrong)


@pytest.mark.parametrize("wrong", [{"limits": {"max_turns": 10**9}}, {"limits": {"max_turns": -1}}, {"id": "a\nb"}])
async def test_what_does_not_fit_makes_no_session(tmp_path: Path, wrong: dict[str, object]) -> None:
    async with served(tmp_path) as api:
        await _unchanged(api, "POST", "/v1/sessions", wrong)


async def test_a_caller_can_name_a_model_but_no_file_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "private.jsonl").write_text('{"text": "a private line"}')
    async with served(tmp_path) as api:
        for model in (f"scripted:{tmp_path / 'private.jsonl'}", "scripted:/etc/hostname", "nonsense/x", "nonsense"):
            message = await _unchanged(api, "POST", "/v1/sessions", {"model": model})
            assert "private line" not in message


async def _raw(api: Api, head: str, body: bytes) -> bytes:
    """Send the beginning of a request and return what comes back before it is whole."""
    host, _, port = api.url.removeprefix("http://").partition(":")
    async with await anyio.connect_tcp(host, int(port)) as stream:
        await stream.send(f"POST /v1/sessions HTTP/1.1\r\nHost: {host}\r\n{head}\r\n\r\n".encode())
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:

                async def send() -> None:
                    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        await stream.send(body)

                tasks.start_soon(send)
                received = await stream.receive()
                tasks.cancel_scope.cancel()
    return received


@pytest.mark.req("SES-52")
async def test_a_body_over_1_mib_is_refused_before_it_is_read_to_the_end(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        announced = await _raw(api, f"Content-Length: {10**12}", b"{")
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        in_pieces = await _raw(api, "Transfer-Encoding: chunked", chunk + chunk)
        for received in (announced, in_pieces):
            assert received.startswith(b"HTTP/1.1 413 ")
        assert json.loads(announced.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_large"
        exact = b'{"title": "x"' + b" " * (1024 * 1024 - 14) + b"}"
        assert len(exact) == 1024 * 1024
        assert (await api.ask("POST", "/v1/sessions", content=exact)).status_code == 201
        assert (await api.refused("POST", "/v1/sessions", content=exact + b" "))[:2] == (413, "too_large")
        assert len((await api.get("/v1/sessions"))["sessions"]) == 1  # type: ignore[arg-type]  # a list, by the document
