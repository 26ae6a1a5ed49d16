"""Event streams: frames, silence, replay joined to what comes, slow readers, readers that leave, faults."""

import json
from collections.abc import AsyncGenerator, Mapping, MutableMapping
from pathlib import Path

import anyio
import pytest

from hilt.api.events import EventStream, Stream
from hilt.api.service import SILENCE_S, Service
from hilt.app.stores import Store
from hilt.core.session import SessionState
from hilt.engine.follow import BEHIND_MAX
from tests.api.kit import Frame, kinds, seqs, served, until
from tests.flows.kit import allow, ask, call, says
from tests.flows.session_kit import STORES, Failing, Held, Watched


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kind: str = request.param
    return STORES[kind](tmp_path)


@pytest.mark.req("SES-58")
async def test_a_frame_has_its_number_its_type_and_json_on_one_line(tmp_path: Path) -> None:
    async with served(tmp_path, {"text": "two\nlines\r\u2028 and é", "chunk": 99}) as api:
        path = f"/v1/sessions/{await api.create()}/prompt"
        response = await api.ask("POST", path, {"text": "go"})
        assert response.headers["content-type"].partition(";")[0] == "text/event-stream"
        assert response.headers["cache-control"] == "no-store"
        whole = response.content.decode()
        assert whole.endswith("\n\n")
        for at, text in enumerate(whole.split("\n\n")[:-1], start=1):
            id_, event, data = text.split("\n")
            assert id_ == f"id: {at}"
            value = json.loads(data.removeprefix("data: "))
            assert event == f"event: {value['type']}"
            assert value["seq"] == at
        assert "\r" not in whole


@pytest.mark.req("SES-58")
async def test_a_comment_goes_out_in_silence_and_only_then(tmp_path: Path) -> None:
    assert (SILENCE_S, Service.__dataclass_fields__["silence_s"].default) == (15.0, 15.0)
    held = Held()
    answers = [{"calls": [call("Hold")]}, {"text": "done"}]
    options: dict[str, object] = {"tools": [held.tool()], "rules": allow("Hold")}
    async with served(tmp_path, *answers, silence_s=0.2, **options) as api:
        path = f"/v1/sessions/{await api.create()}"
        async with (
            api.stream("GET", f"{path}/watch") as watched,
            api.stream("POST", f"{path}/prompt", {"text": "go"}) as frames,
        ):
            for stream in (watched, frames):
                read = await until(stream, "tool.start")
                assert [one for one in read if one.comment and one.event] == []
                with anyio.fail_after(10):
                    assert (await anext(stream)).comment == "keep-alive"
            held.go.set()
            assert (await until(frames, "result"))[-1].comment == ""
    async with served(tmp_path, {"text": "done"}) as api:
        assert [one for one in await api.run(await api.create()) if one.comment] == []


@pytest.mark.req("SES-59")
@pytest.mark.parametrize("after", [0, 1, 4, 99])
async def test_stored_events_are_given_behind_a_number(tmp_path: Path, store: Store, after: int) -> None:
    async with served(tmp_path, {"text": "hello", "chunk": 1}, store=store) as api:
        id_ = await api.create()
        frames = await api.run(id_)
        for path, headers in (
            (f"/v1/sessions/{id_}/events?after={after}", {}),
            (f"/v1/sessions/{id_}/events", {"Last-Event-ID": str(after)}),
            (f"/v1/sessions/{id_}/events?after=0", {"Last-Event-ID": str(after)}),
        ):
            assert await api.all("GET", path, headers=headers) == [one for one in frames if int(one.id) > after]
        for wrong in ({"Last-Event-ID": "x"}, {"Last-Event-ID": "-1"}, {"Last-Event-ID": "9" * 30}):
            refusal = await api.refused("GET", f"/v1/sessions/{id_}/events", headers=wrong)
            assert refusal[:2] == (400, "bad_request")
        assert (await api.refused("GET", f"/v1/sessions/{id_}/watch?after=one"))[:2] == (400, "bad_request")


@pytest.mark.req("SES-59")
async def test_replay_and_what_comes_join_for_readers_that_come_at_any_time(tmp_path: Path, store: Store) -> None:
    held = Held()
    answers = [{"text": "a" * 60, "chunk": 1, "calls": [call("Hold")]}, {"text": "b" * 60, "chunk": 1}]
    async with served(tmp_path, *answers, store=store, tools=[held.tool()], rules=allow("Hold")) as api:
        id_ = await api.create()
        path = f"/v1/sessions/{id_}"
        read: dict[int, list[Frame]] = {}

        async def watch(after: int) -> None:
            async with api.stream("GET", f"{path}/watch?after={after}") as frames:
                read[after] = await until(frames, "result")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, 0)
            async with api.stream("POST", f"{path}/prompt", {"text": "go"}) as frames:
                first = await until(frames, "tool.start")
                for after in (1, 30, len(first) - 1):
                    tasks.start_soon(watch, after)
                held.go.set()
                whole = first + await until(frames, "result")
        assert seqs(whole) == list(range(1, len(whole) + 1))
        assert len(whole) > 120
        for after, found in read.items():
            assert found == whole[after:]
        assert await api.all("GET", f"{path}/events") == whole


@pytest.mark.req("SES-59")
async def test_a_watch_goes_on_while_a_session_is_closed_and_opened_and_ends_with_it(
    tmp_path: Path, store: Store
) -> None:
    async with served(tmp_path, {"text": "one"}, {"text": "two"}, store=store) as api:
        path = f"/v1/sessions/{await api.create()}"
        async with api.stream("GET", f"{path}/watch") as frames:
            await api.all("POST", f"{path}/prompt", {"text": "go"})
            first = await until(frames, "result")
            await api.ask("DELETE", path)
            await api.all("POST", f"{path}/prompt", {"text": "go on"})
            second = await until(frames, "result")
            assert seqs(first + second) == list(range(1, len(first + second) + 1))
            await api.ask("POST", f"{path}/delete")
            with anyio.fail_after(10):
                assert [frame async for frame in frames] == []


@pytest.mark.req("SES-57")
async def test_closing_the_connection_of_a_prompt_cancels_its_run(tmp_path: Path) -> None:
    held = Held()
    answers = [{"calls": [call("Hold")]}, {"text": "never"}, {"text": "next"}]
    async with served(tmp_path, *answers, tools=[held.tool()], rules=allow("Hold")) as api:
        path = f"/v1/sessions/{await api.create()}"
        async with api.stream("GET", f"{path}/watch") as watched:
            async with api.stream("POST", f"{path}/prompt", {"text": "go"}) as frames:
                await until(frames, "tool.start")
            assert (await until(watched, "result"))[-1].data["stop_reason"] == "cancelled"
        while (await api.get(path))["state"] != "idle":
            await anyio.lowlevel.checkpoint()
        assert kinds(await api.all("POST", f"{path}/prompt", {"text": "go"}))[-1] == "result"


@pytest.mark.req("SES-57", "SES-50")
async def test_a_detached_run_goes_on_by_itself_and_closing_a_watch_cancels_nothing(tmp_path: Path) -> None:
    held = Held()
    answers = [{"calls": [call("Hold")]}, {"text": "done"}]
    async with served(tmp_path, *answers, tools=[held.tool()], rules=allow("Hold")) as api:
        path = f"/v1/sessions/{await api.create()}"
        started = await api.ask("POST", f"{path}/prompt", {"text": "go", "detach": True})
        assert started.status_code == 202
        async with api.stream("GET", f"{path}/watch") as watched:
            await until(watched, "tool.start")
        async with api.stream("GET", f"{path}/watch") as watched:
            await until(watched, "tool.start")
            held.go.set()
            result = (await until(watched, "result"))[-1].data
        assert (result["run"], result["stop_reason"]) == (started.json()["run_id"], "end_turn")


@pytest.mark.req("SES-60")
async def test_a_reader_far_behind_is_told_what_it_missed_and_the_run_is_not_slowed(tmp_path: Path) -> None:
    text = "x" * 4096
    answers = [{"text": text * 4000, "chunk": 4096}, {"text": "after", "chunk": 99}]
    async with served(tmp_path, *answers) as api:
        id_ = await api.create()
        path = f"/v1/sessions/{id_}"
        host, _, port = api.url.removeprefix("http://").partition(":")
        async with await anyio.connect_tcp(host, int(port)) as slow:
            await slow.send(f"GET {path}/watch HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            await slow.receive()  # the answer has begun, and from now on nothing is read
            started = anyio.current_time()
            with anyio.fail_after(40):
                await api.ask("POST", f"{path}/prompt", {"text": "go", "detach": True})
                while (await api.get(path))["state"] != "idle":
                    await anyio.lowlevel.checkpoint()
                took = anyio.current_time() - started
                received = b""
                while b"event: gap" not in received:
                    received += await slow.receive(1 << 20)
                while received.count(b"\n\n", received.index(b"event: gap")) < 1:
                    received += await slow.receive(1 << 20)
        gap = json.loads(received.partition(b"event: gap\ndata: ")[2].partition(b"\n")[0])
        first, last = gap["from"], gap["to"]
        assert gap == {"type": "gap", "from": first, "to": last}
        assert last - first >= BEHIND_MAX
        assert f"id: {first - 1}\nevent: gap".encode() in received
        assert received.count(f"id: {first - 1}\nevent: ".encode()) == 2
        missed = await api.all("GET", f"{path}/events?after={first - 1}")
        assert seqs(missed)[0] == first
        assert last <= seqs(missed)[-1]
        assert took < 40


async def test_a_fault_that_ends_a_run_without_a_result_is_told_in_the_stream(tmp_path: Path) -> None:
    store = Failing()
    async with served(tmp_path, {"text": "one"}, store=store) as api:
        id_ = await api.create()
        store.broken = True
        frames = await api.run(id_)
        assert [(frame.id, frame.event) for frame in frames] == [("", "error")]
        error = frames[0].data["error"]
        assert isinstance(error, dict)
        assert error["code"] == "internal"
        assert "disk" not in error["message"]
        store.broken = False
        assert kinds(await api.run(id_))[-1] == "result"


async def test_a_stream_whose_frames_fail_ends_and_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"event: one\ndata: {}\n\n"
        raise RuntimeError("a fault of ours")

    closed: list[str] = []
    stream = Stream(frames=frames(), close=lambda: closed.append("closed"), end=lambda: None)
    sent: list[Mapping[str, object]] = []

    async def receive() -> dict[str, object]:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: MutableMapping[str, object]) -> None:
        sent.append(message)

    with anyio.fail_after(5):
        await EventStream(stream, stopped=anyio.Event())({"type": "http"}, receive, send)
    assert [message.get("body") for message in sent] == [None, b"event: one\ndata: {}\n\n", b""]
    assert closed == ["closed"]
    assert "event_stream_failed" in caplog.text


async def test_a_reader_that_takes_nothing_does_not_hold_up_the_end(tmp_path: Path) -> None:
    answers = [{"text": "x" * 4096 * 2000, "chunk": 4096}]
    async with served(tmp_path, *answers) as api:
        path = f"/v1/sessions/{await api.create()}"
        host, _, port = api.url.removeprefix("http://").partition(":")
        async with await anyio.connect_tcp(host, int(port)) as slow:
            await slow.send(f"GET {path}/watch HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            await slow.receive()
            await api.ask("POST", f"{path}/prompt", {"text": "go", "detach": True})
            with anyio.fail_after(30):
                while (await api.get(path))["state"] != "idle":
                    await anyio.lowlevel.checkpoint()
            with anyio.fail_after(10):
                await api.service.drain(0)


async def test_a_text_that_is_no_unicode_is_sent_as_json_can(tmp_path: Path) -> None:
    async with served(tmp_path, {"text": "a \ud800 b", "chunk": 99}) as api:
        frames = await api.run(await api.create())
        assert frames[-1].data["final_text"] == "a \ud800 b"


async def test_a_log_that_cannot_be_read_is_an_error_and_no_stream(tmp_path: Path) -> None:
    store = Watched(STORES["memory"](tmp_path))
    async with served(tmp_path, {"text": "x"}, store=store) as api:
        id_ = await api.create()
        store.broken = True
        for route in ("events", "watch"):
            assert (await api.refused("GET", f"/v1/sessions/{id_}/{route}"))[:2] == (500, "internal")
        store.broken = False


@pytest.mark.req("SES-95", "SES-40")
async def test_at_the_end_runs_get_their_grace_the_rest_is_cancelled_and_asks_stay(
    tmp_path: Path, store: Store
) -> None:
    quick, slow = Held(), Held()
    tools = [quick.tool("Quick"), slow.tool("Slow"), says("Send", read_only=False)]
    options: dict[str, object] = {"tools": tools, "rules": [*allow("Quick", "Slow"), *ask("Send")], "store": store}
    async with served(tmp_path, **options) as api:
        ends: dict[str, list[Frame]] = {}
        ids = {name: await api.create(id=name) for name in ("Quick", "Slow", "Send")}

        async def prompt(name: str, until_kind: str) -> None:
            async with api.stream("POST", f"/v1/sessions/{ids[name]}/prompt", {"text": name}) as frames:
                read = await until(frames, until_kind)
                reached[name].set()
                ends[name] = read + [frame async for frame in frames]

        reached = {name: anyio.Event() for name in ids}
        async with anyio.create_task_group() as tasks:
            for name, kind in (("Quick", "tool.start"), ("Slow", "tool.start"), ("Send", "permission.ask")):
                api.model.add({"calls": [call(name)]})
                tasks.start_soon(prompt, name, kind)
                await reached[name].wait()
            api.model.add({"text": "done in time"})
            draining = anyio.Event()

            async def drain() -> None:
                draining.set()
                await api.service.drain(1.0)

            tasks.start_soon(drain)
            await draining.wait()
            refused = await api.refused("POST", f"/v1/sessions/{ids['Quick']}/prompt", {"text": "more"})
            assert refused[:2] == (503, "unavailable")
            quick.go.set()
        results = {name: frames[-1].data.get("stop_reason") for name, frames in ends.items()}
        assert results == {"Quick": "end_turn", "Slow": "cancelled", "Send": None}
        assert api.app.sessions.open_sessions
    states = {name: (await store.sessions.load(id_)) for name, id_ in ids.items()}  # type: ignore[arg-type]  # ids are texts
    assert {name: None if record is None else record.state for name, record in states.items()} == {
        "Quick": SessionState.CLOSED,
        "Slow": SessionState.CLOSED,
        "Send": SessionState.AWAITING,
    }
    async with served(tmp_path, {"text": "sent"}, **options) as api:
        path = "/v1/sessions/Send"
        pending = (await api.get(path))["pending_ask"]
        assert isinstance(pending, dict)
        async with api.stream("GET", f"{path}/watch") as frames:
            given = await api.ask("POST", f"{path}/approve", {"ask_id": pending["ask_id"], "allow": True})
            assert given.status_code == 204
            assert (await until(frames, "result"))[-1].data["stop_reason"] == "end_turn"
