"""The routes about the service itself: tools, skills, commands, MCP servers, version, health, metrics."""

from starlette.responses import Response

from hilt.api.metrics import MEDIA_TYPE
from hilt.api.table import OBJECT, TEXT, Call, Route
from hilt.api.wire import (
    CommandAnswer,
    CommandInventory,
    Info,
    ServerAnswer,
    ServerInventory,
    ShadowAnswer,
    SkillAnswer,
    SkillInventory,
    StateAnswer,
    ToolAnswer,
    ToolInventory,
)
from hilt.core.errors import RequestError
from hilt.core.version import HANDSHAKE_REVISIONS, STATELESS_REVISIONS, VERSION
from hilt.engine.origin import server_of
from hilt.engine.slash import ListedCommand
from hilt.ports.store import ToolCallReader


async def tools(call: Call) -> Response:
    """Give the shared catalog."""
    catalog = call.service.catalog
    listed = [
        ToolAnswer(
            name=entry.spec.name,
            description=entry.spec.description,
            family=entry.family,
            source=entry.source,
            server=server_of(entry),
            read_only=entry.read_only,
            unavailable=catalog.withdrawn(entry.spec.name) or "",
        )
        for entry in catalog.entries()
    ]
    return call.answer(ToolInventory(tools=listed))


async def skills(call: Call) -> Response:
    """Give the skills."""
    listed = [
        SkillAnswer(
            name=found.meta.name,
            description=found.meta.description,
            tier=found.origin.tier,
            place=found.origin.place,
        )
        for found in call.service.skills.all
    ]
    return call.answer(SkillInventory(skills=listed))


async def commands(call: Call) -> Response:
    """Give the slash commands, each with what it shadows."""
    return call.answer(CommandInventory(commands=[_command(listed) for listed in call.service.slash.listing()]))


def _command(listed: ListedCommand) -> CommandAnswer:
    entry = listed.entry
    return CommandAnswer(
        name=entry.name,
        kind=entry.kind,
        description=entry.description,
        argument_hint=entry.argument_hint,
        place=entry.place,
        shadows=[ShadowAnswer(kind=hidden.kind, place=hidden.place) for hidden in listed.shadows],
    )


async def servers(call: Call) -> Response:
    """Give the MCP servers of the process."""
    listed = [
        ServerAnswer(
            name=server.name,
            transport=server.transport,
            state=server.state,
            cause=server.cause,
            era=server.era,
            tools=server.tools,
        )
        for server in call.service.servers()
    ]
    return call.answer(ServerInventory(servers=listed))


async def info(call: Call) -> Response:
    """Give version and features."""
    service = call.service
    told = Info(
        version=VERSION,
        mcp=[*HANDSHAKE_REVISIONS, *STATELESS_REVISIONS],
        model=service.offer.model,
        mode=service.offer.mode,
        categories=list(service.offer.categories),
        features={
            "calls": isinstance(service.calls, ToolCallReader),
            "client_mcp": service.offer.client_mcp,
            "detach": True,
            "grpc": False,
            "watch": True,
        },
    )
    return call.answer(told)


async def openapi(call: Call) -> Response:
    """Give the OpenAPI document."""
    return call.answer(call.front.document)


async def healthz(call: Call) -> Response:
    """Tell that the process answers."""
    return call.answer(StateAnswer(state="ok"))


async def readyz(call: Call) -> Response:
    """Tell whether sessions are served: not before the service is built, nor while it stops."""
    if call.service.stopping:
        raise RequestError("the service is stopping", code="unavailable")
    return call.answer(StateAnswer(state="ready"))


async def metrics(call: Call) -> Response:
    """Give what was counted."""
    service = call.service
    places, running = service.sessions.places, service.running()
    gauges: dict[str, tuple[str, float]] = {
        "hilt_sessions_open": ("Sessions that are open.", places.open),
        "hilt_sessions_own_engines": ("Open sessions with an engine of their own.", places.own_engines),
        "hilt_runs_active": ("Runs that go on.", len(running)),
    }
    return Response(service.metrics.text(gauges), media_type=MEDIA_TYPE)


ROUTES = (
    Route(method="GET", path="/v1/tools", handler=tools, summary="The shared catalog.", answer=ToolInventory),
    Route(method="GET", path="/v1/skills", handler=skills, summary="The skills.", answer=SkillInventory),
    Route(
        method="GET",
        path="/v1/commands",
        handler=commands,
        summary="The slash commands: kind, description and what each shadows.",
        answer=CommandInventory,
    ),
    Route(
        method="GET",
        path="/v1/mcp/servers",
        handler=servers,
        summary="The MCP servers of the process.",
        answer=ServerInventory,
    ),
    Route(method="GET", path="/v1/info", handler=info, summary="Version and features.", answer=Info),
    Route(method="GET", path="/v1/openapi.json", handler=openapi, summary="This document.", answer=OBJECT),
    Route(
        method="GET",
        path="/healthz",
        handler=healthz,
        summary="Whether the process answers.",
        answer=StateAnswer,
        open_to_all=True,
    ),
    Route(
        method="GET",
        path="/readyz",
        handler=readyz,
        summary="Whether sessions are served.",
        answer=StateAnswer,
        refusals=("unavailable",),
        open_to_all=True,
    ),
    Route(method="GET", path="/metrics", handler=metrics, summary="Counts, for Prometheus.", answer=TEXT),
)
