"""Puts the service together and runs it: the listener first, then the application, and an orderly end."""

import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio
import uvicorn

from hilt.api.access import HostRule, RateLimit, Tokens, is_loopback_host
from hilt.api.app import Access, Front
from hilt.api.metrics import Metrics
from hilt.api.service import SILENCE_S, MountedServer, Offer, Service
from hilt.app.application import VIA_SESSION, App
from hilt.app.build import build
from hilt.app.config import Config
from hilt.app.load_model import load_model
from hilt.app.load_tokens import load_tokens
from hilt.app.open_files import sessions_that_fit
from hilt.core.errors import ConfigError

logger = logging.getLogger(__name__)

GRACE_S = 30.0
LAST_ANSWERS_S = 5
IN_MEMORY = "memory:"
BACKLOG = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How the service is run, beside its settings: seconds that runs get at the end, and who may call without a token.

    `silence_s` is how long a stream stays silent before a comment goes out.
    """

    grace_s: float = GRACE_S
    insecure_no_auth: bool = False
    silence_s: float = SILENCE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the service listens."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback_host(self.host)

    def url(self, port: int) -> str:
        """Return the address with the port that it got."""
        return f"http://[{self.host}]:{port}" if ":" in self.host else f"http://{self.host}:{port}"


def parse_address(text: str, *, source: str | None = None) -> Address:
    """Return the address that HOST:PORT or [IPV6]:PORT names.

    Raises:
        ConfigError: It is of another form.
    """
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not bare or (":" in bare and bare == host) or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ConfigError(f"{text!r} is not HOST:PORT, as in 127.0.0.1:8081", source=source, key="serve.listen")
    return Address(host=bare, port=int(port))


class _Server(uvicorn.Server):
    """A server that leaves signals to the command, and tells when it is up and when it has ended."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up, self.down = anyio.Event(), anyio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self.up.set()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to end."""
        try:
            await super().serve(sockets)
        finally:
            self.down.set()

    async def finish(self) -> None:
        """Take no further connection and return when the last answers are out."""
        self.should_exit = True
        await self.down.wait()


async def serve(
    config: Config, serving: Serving, *, stop: anyio.Event, listening: Callable[[str], None] = lambda url: None
) -> None:
    """Serve sessions until `stop` is set, then end in order; `listening` is told the address when it is ready.

    Raises:
        ConfigError: Settings are wrong, the model cannot be used, the address cannot be listened on, or would be open
            to anybody.
        UnreachableError: A required MCP server does not answer.
    """
    address = parse_address(config.serve.listen, source=str(config.source("serve.listen")))
    if config.model:
        # A model that cannot be used would fail every session; its library is loaded before anybody waits for it.
        load_model(config.model, config.environment)
    else:
        logger.warning("service_without_model: sessions that name no model cannot run a prompt")
    tokens = load_tokens(config)
    _refuse_open(config, address, authenticated=bool(tokens) or serving.insecure_no_auth)
    guarded = not address.loopback and config.serve.client_mcp == "public"
    sessions = config.sessions
    if sessions.store != IN_MEMORY:
        sessions = replace(sessions, max_open=sessions_that_fit(sessions.max_open))
    config = replace(config, client_mcp_guarded=guarded, secrets=tuple(tokens), sessions=sessions)
    front = Front(
        Access(
            tokens=Tokens(tokens),
            hosts=HostRule(loopback=address.loopback, origins=config.serve.cors_origins),
            rate=RateLimit(config.serve.rate_limit, anyio.current_time),
        )
    )
    with bound(address) as sock:
        async with answering(front, sock) as server:
            await _until(
                stop,
                config,
                serving,
                front=front,
                server=server,
                ready=lambda: listening(address.url(sock.getsockname()[1])),
            )


def _refuse_open(config: Config, address: Address, *, authenticated: bool) -> None:
    if address.loopback or authenticated:
        return
    raise ConfigError(
        f"{config.serve.listen} can be reached by others and there is no token; set HILT_AUTH_TOKEN or"
        " --auth-token-file, or take --insecure-no-auth",
        source=str(config.source("serve.listen")),
        key="serve.listen",
    )


async def _until(
    stop: anyio.Event,
    config: Config,
    serving: Serving,
    *,
    front: Front,
    server: _Server,
    ready: Callable[[], None],
) -> None:
    """Build the application and serve it until `stop` is set, also where that is before it is built."""
    metrics = Metrics()
    async with anyio.create_task_group() as tasks:

        async def give_up() -> None:
            await stop.wait()
            if front.service is None:
                tasks.cancel_scope.cancel()

        tasks.start_soon(give_up)
        async with build(
            config=config, store=config.sessions.store, approver=VIA_SESSION, on_event=metrics.take
        ) as app:
            front.service = service_of(app, metrics=metrics, silence_s=serving.silence_s)
            ready()
            await stop.wait()
            await front.service.drain(serving.grace_s)
            await server.finish()


def service_of(app: App, *, metrics: Metrics, silence_s: float = SILENCE_S) -> Service:
    """Return an application as its routes see it."""
    config = app.config
    return Service(
        sessions=app.sessions,
        catalog=app.catalog,
        slash=app.slash,
        skills=app.skills,
        calls=app.calls,
        servers=lambda: _mounted(app),
        offer=Offer(
            model=config.model or "",
            mode=str(config.mode),
            categories=sorted(config.tools.enable),
            client_mcp=config.serve.client_mcp != "off",
        ),
        redactor=app.redactor,
        metrics=metrics,
        silence_s=silence_s,
    )


def _mounted(app: App) -> Sequence[MountedServer]:
    return [
        MountedServer(
            name=server.spec.name,
            transport=server.spec.transport,
            state=server.state,
            cause=server.cause,
            era=server.facts.era if server.state == "ready" else "",
            tools=len(server.listing.tools),
        )
        for manager in app.mcp
        for server in manager.servers
    ]


@contextlib.contextmanager
def bound(address: Address) -> Iterator[socket.socket]:
    """Hold a socket that is bound to the address.

    Raises:
        ConfigError: It cannot be had.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # Connections of a socket that does not name its protocol wait for acknowledgements, 40 ms an answer.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((address.host, address.port))
        except OSError as exc:
            why = exc.strerror or "it is no address of this machine"
            raise ConfigError(f"cannot listen on {address.host}:{address.port}: {why}", key="serve.listen") from exc
        yield sock


@asynccontextmanager
async def answering(front: Front, sock: socket.socket) -> AsyncIterator[_Server]:
    """Answer requests until the context is left, then let the last answers go out."""
    settings = uvicorn.Config(
        front,
        lifespan="off",
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=LAST_ANSWERS_S,
    )
    server = _Server(settings)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [sock])
        await server.up.wait()
        try:
            yield server
        finally:
            server.should_exit = True
