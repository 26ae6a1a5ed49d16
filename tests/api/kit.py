"""The service over real HTTP on loopback, with a model that a test writes; every answer is held against OpenAPI."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path

import anyio
import httpx2
import jsonschema_rs

from hilt.api.access import HostRule, RateLimit, Tokens
from hilt.api.app import Access, Front
from hilt.api.metrics import Metrics
from hilt.api.service import SILENCE_S, Service
from hilt.app.application import VIA_SESSION, App
from hilt.app.build import build
from hilt.app.serve import answering, bound, parse_address, service_of
from hilt.ports.model import Capabilities
from hilt.testing import ScriptedModel

TOKENS = {"token-of-ann": "ann", "token-of-bob": "bob"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of an event stream, or a comment."""

    id: str = ""
    event: str = ""
    data: Mapping[str, object] = field(default_factory=dict)
    comment: str = ""


def read_frame(lines: Sequence[str]) -> Frame:
    """Return the frame of its lines."""
    values: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        values[name or "comment"] = value.removeprefix(" ")
    data = json.loads(values["data"]) if "data" in values else {}
    return Frame(id=values.get("id", ""), event=values.get("event", ""), data=data, comment=values.get("comment", ""))


async def frames_of(response: httpx2.Response) -> AsyncGenerator[Frame, None]:
    """Yield the frames of an open stream."""
    lines: list[str] = []
    async for line in response.aiter_lines():
        if line:
            lines.append(line)
        elif lines:
            yield read_frame(lines)
            lines = []
    assert lines == []


class Document:
    """The OpenAPI document, as a judge of answers."""

    def __init__(self, document: Mapping[str, object]) -> None:
        self.body = document
        paths = document["paths"]
        assert isinstance(paths, dict)
        self.paths: dict[str, dict[str, dict[str, dict[str, dict[str, object]]]]] = paths

    def check(self, response: httpx2.Response) -> None:
        """Fail on an answer that the document does not have."""
        operations = self.paths.get(self._template(response.request.url.raw_path.decode("ascii").partition("?")[0]))
        operation = None if operations is None else operations.get(response.request.method.lower())
        if operation is None:
            assert response.status_code in (204, 401, 403, 404, 405, 429), response.status_code
            return
        told = operation["responses"].get(str(response.status_code))
        assert told is not None, f"{response.request.method} {response.request.url} {response.status_code}"
        content = told.get("content")
        if content is None:
            assert response.content == b""
            return
        assert isinstance(content, dict)
        kind = response.headers["content-type"].partition(";")[0]
        assert list(content) == [kind]
        if kind == "application/json":
            self._validate(content[kind]["schema"], response.json())

    def _validate(self, schema: Mapping[str, object], value: object) -> None:
        whole = {**schema, "components": self.body["components"]}
        jsonschema_rs.validator_for(whole).validate(value)

    def _template(self, path: str) -> str:
        parts = path.split("/")
        if parts[1:3] == ["v1", "sessions"] and len(parts) > 3:
            parts[3] = "{id}"
        return "/".join(parts)


@dataclass(kw_only=True)
class Api:
    """A caller of a running service; `app` and `service` are what stands behind it."""

    url: str
    client: httpx2.AsyncClient
    document: Document
    app: App
    service: Service
    model: ScriptedModel
    front: Front
    token: str = ""

    def of(self, token: str) -> "Api":
        """Return another caller."""
        return Api(**{**self.__dict__, "token": token})

    def headers(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the headers of a request."""
        own = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {**own, **(more or {})}

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> httpx2.Response:
        """Send a request and return its answer, which the document has to know."""
        sent = content if body is None else json.dumps(body).encode()
        with anyio.fail_after(20):
            response = await self.client.request(method, self.url + path, content=sent, headers=self.headers(headers))
        self.document.check(response)
        return response

    async def get(self, path: str, **options: object) -> dict[str, object]:
        """Return the body of a GET that is answered with 200."""
        response = await self.ask("GET", path, **options)  # type: ignore[arg-type]  # the options of ask, checked there
        assert response.status_code == 200, response.text
        body = response.json()
        assert isinstance(body, dict)
        return body

    async def refused(self, method: str, path: str, body: object = None, **options: object) -> tuple[int, str, str]:
        """Return status, code and message of a refusal, which has no other shape."""
        response = await self.ask(method, path, body, **options)  # type: ignore[arg-type]  # the options of ask
        told = response.json()
        assert list(told) == ["error"], told
        assert sorted(told["error"]) == ["code", "message"]
        return response.status_code, told["error"]["code"], told["error"]["message"]

    async def create(self, **body: object) -> str:
        """Make a session and return its id."""
        response = await self.ask("POST", "/v1/sessions", body)
        assert response.status_code == 201, response.text
        return str(response.json()["session_id"])

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, body: object = None, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[AsyncIterator[Frame]]:
        """Open an event stream and give its frames; leaving closes the connection."""
        content = None if body is None else json.dumps(body).encode()
        async with (
            httpx2.AsyncClient(trust_env=False, timeout=20) as client,
            client.stream(method, self.url + path, content=content, headers=self.headers(headers)) as response,
        ):
            assert response.status_code == 200, await response.aread()
            assert response.headers["content-type"].startswith("text/event-stream")
            async with aclosing(frames_of(response)) as frames:
                yield frames

    async def all(self, method: str, path: str, body: object = None, **options: object) -> list[Frame]:
        """Return the frames of a stream that ends."""
        with anyio.fail_after(20):
            async with self.stream(method, path, body, **options) as frames:  # type: ignore[arg-type]  # as of stream
                return [frame async for frame in frames]

    async def run(self, session_id: str, text: str = "go") -> list[Frame]:
        """Run a prompt to its end and return its frames."""
        return await self.all("POST", f"/v1/sessions/{session_id}/prompt", {"text": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How the service listens in a test: its tokens, whom it lets call, how long a stream stays silent."""

    tokens: Mapping[str, str] | None = None
    hosts: HostRule = field(default_factory=HostRule)
    rate: RateLimit | None = None
    silence_s: float = SILENCE_S


@asynccontextmanager
async def served(root: Path, *answers: object, **options: object) -> AsyncIterator[Api]:
    """Serve an application over a folder; the options are those of `Setup` and of `build`."""
    model = ScriptedModel(list(answers), capabilities=Capabilities(profile="anthropic"))  # type: ignore[arg-type]  # answers of a script
    own = {item.name: options.pop(item.name) for item in fields(Setup) if item.name in options}
    setup = Setup(**own)  # type: ignore[arg-type]  # as the test gives them
    metrics = Metrics()
    rate = setup.rate or RateLimit(None, anyio.current_time)
    front = Front(Access(tokens=Tokens(setup.tokens), hosts=setup.hosts, rate=rate))
    options.setdefault("model", model)
    with bound(parse_address("127.0.0.1:0")) as sock:
        async with (
            build(workspace=root, approver=VIA_SESSION, on_event=metrics.take, **options) as app,  # type: ignore[arg-type]  # the options of build, checked there
            answering(front, sock),
            httpx2.AsyncClient(trust_env=False, timeout=20) as client,
        ):
            service = front.service = service_of(app, metrics=metrics, silence_s=setup.silence_s)
            yield Api(
                url=f"http://127.0.0.1:{sock.getsockname()[1]}",
                client=client,
                document=Document(front.document),
                app=app,
                service=service,
                model=model,
                front=front,
                token=next(iter(setup.tokens or {}), ""),
            )
            service.stopped.set()


def seqs(frames: Sequence[Frame]) -> list[int]:
    """Return the numbers of events."""
    return [int(frame.id) for frame in frames if not frame.comment]


def kinds(frames: Sequence[Frame]) -> list[str]:
    """Return the kinds of events, in order."""
    return [frame.event for frame in frames]


async def until(frames: AsyncIterator[Frame], kind: str) -> list[Frame]:
    """Read a stream until an event of this kind, and return what was read."""
    read: list[Frame] = []
    with anyio.fail_after(20):
        async for frame in frames:
            read.append(frame)
            if frame.event == kind:
                return read
    raise AssertionError(f"no {kind} among {kinds(read)}")
