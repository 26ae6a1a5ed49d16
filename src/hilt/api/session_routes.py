"""The routes of sessions but for their streams: create, look, list, change, approve, cancel, close, delete."""

from msgspec import UNSET
from starlette.responses import Response

from hilt.api.table import NOTHING, Call, Route, whole_number
from hilt.api.wire import (
    ApproveBody,
    AskAnswer,
    CallPage,
    CreateBody,
    Created,
    Filter,
    PatchBody,
    ServerBody,
    SessionAnswer,
    SessionPage,
    SpecAnswer,
    Specs,
    UsageAnswer,
    as_json,
)
from hilt.core.errors import ConflictError, RequestError
from hilt.core.mcp import McpServerSpec
from hilt.core.session import PendingAsk, SessionRecord, SessionState, ToolFilter
from hilt.engine.new_session import NewSession
from hilt.ports.store import PAGE_MAX, ToolCallReader

SCRIPTED = "scripted:"
PAGE = 50


async def create(call: Call) -> Response:
    """Make a session of this principal."""
    service, body = call.service, call.taken(CreateBody)
    service.refuse_when_stopping()
    servers = body.servers()
    if servers and not service.offer.client_mcp:
        raise RequestError("this service takes no MCP servers of a session (serve.client_mcp)", code="forbidden")
    if body.model is not None and body.model.startswith(SCRIPTED) and body.model != service.offer.model:
        raise RequestError("model: a script is a file of the server and cannot be named here")
    asked = NewSession(
        owner=call.principal,
        id=body.id,
        title=body.title,
        mode=body.mode,
        model=body.model,
        system_prompt=body.system_prompt,
        profile=body.profile or "",
        enable=body.categories,
        tools=_filter(body.tools),
        limits=body.limits.given(),
        mcp_servers=[_server(entry) for entry in servers],
    )
    session = await service.sessions.make(asked)
    made = Created(session_id=session.id, mode=str(session.mode), tool_count=len(session.specs()))
    return call.answer(made, status=201)


def _server(entry: ServerBody) -> McpServerSpec:
    return McpServerSpec(
        name=entry.name,
        transport=entry.transport,
        url=entry.url,
        headers=entry.headers,
        protocol=entry.protocol,
        connect_timeout_s=entry.connect_timeout_s,
        idle_timeout_s=entry.idle_timeout_s,
        call_timeout_s=entry.call_timeout_s,
        trust_annotations=entry.trust_annotations,
        allow=entry.tools.allow,
        deny=entry.tools.deny,
        origin="client",
    )


def _filter(body: Filter) -> ToolFilter:
    return ToolFilter(allow=body.allow, deny=body.deny)


async def list_(call: Call) -> Response:
    """Give a page of this principal's sessions."""
    records, following = await call.service.sessions.list(
        cursor=call.text("cursor"), limit=call.number("limit", PAGE), owner=call.principal
    )
    return call.answer(SessionPage(sessions=[_session(record) for record in records], next=following))


async def show(call: Call) -> Response:
    """Give a session as it stands."""
    return call.answer(_session(await call.owned()))


def _session(record: SessionRecord) -> SessionAnswer:
    usage, pending = record.usage, record.pending
    return SessionAnswer(
        id=record.id,
        title=record.title,
        state=record.state.value,
        mode=str(record.mode),
        model=record.model,
        profile=record.profile,
        turns=record.turns,
        tool_calls=record.tool_calls,
        usage=UsageAnswer(
            input=usage.input, output=usage.output, cache_read=usage.cache_read, cache_write=usage.cache_write
        ),
        pending_ask=None if pending is None else _ask(pending),
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def _ask(pending: PendingAsk) -> AskAnswer:
    return AskAnswer(
        ask_id=pending.ask_id,
        call_id=pending.call_id,
        tool=pending.tool,
        reason=pending.reason,
        arguments=as_json(pending.arguments),
        rule=pending.rule,
        rememberable=pending.rememberable,
    )


async def change(call: Call) -> Response:
    """Change title, mode, filter or limits from the next model request on."""
    body, record = call.taken(PatchBody), await call.owned()
    session = await call.service.sessions.open(record.id)
    await session.set(
        title=None if body.title is UNSET else body.title,
        mode=None if body.mode is UNSET else body.mode,
        tools=None if body.tools is UNSET else _filter(body.tools),
        limits=None if body.limits is UNSET else body.limits.given(),
    )
    return call.answer(_session(session.record))


async def close(call: Call) -> Response:
    """Close a session; its record stays."""
    await call.service.sessions.close((await call.owned()).id)
    return Response(status_code=204)


async def delete(call: Call) -> Response:
    """Remove a session with its audit and events."""
    await call.service.sessions.delete((await call.owned()).id)
    return Response(status_code=204)


async def approve(call: Call) -> Response:
    """Give the verdict on the open ask."""
    body, record = call.taken(ApproveBody), await call.owned()
    if (body.verdict is None) is (body.allow is None):
        raise RequestError("give either verdict or allow")
    if record.state is not SessionState.AWAITING:
        raise ConflictError(f"no ask {body.ask_id[:80]!r} is open in this session")
    verdict = body.verdict or ("allow_once" if body.allow else "deny")
    session = await call.service.sessions.open(record.id)
    run = await session.approve(body.ask_id, verdict, persist=body.persist, message=body.message)
    if run is not None:
        run.forget()
    return Response(status_code=204)


async def cancel(call: Call) -> Response:
    """End the run under way, or the ask that waits; without one nothing happens."""
    record = await call.owned()
    if record.state in (SessionState.RUNNING, SessionState.AWAITING):
        session = await call.service.sessions.open(record.id)
        await session.cancel()
    return Response(status_code=204)


async def tools(call: Call) -> Response:
    """Give the tools that the next model request would list."""
    session = await call.service.sessions.open((await call.owned()).id)
    specs = [
        SpecAnswer(name=spec.name, description=spec.description, input_schema=as_json(spec.schema))
        for spec in session.specs()
    ]
    return call.answer(Specs(tools=specs))


async def calls(call: Call) -> Response:
    """Give the audit records of a session's calls, a page at a time."""
    record, reader = await call.owned(), call.service.calls
    if not isinstance(reader, ToolCallReader):
        raise RequestError("the audit of this service cannot be read back", code="unsupported")
    first = whole_number(call.text("cursor"), "cursor", 0)
    last = first + min(max(call.number("limit", PAGE), 1), PAGE_MAX)
    records = await reader.read(record.id)
    following = str(last) if last < len(records) else ""
    return call.answer(CallPage(calls=[as_json(one) for one in records[first:last]], next=following))


PAGED = {"cursor": "The `next` of the page before.", "limit": "Items of a page, at most 200."}
ONE = "/v1/sessions/{id}"

ROUTES = (
    Route(
        method="POST",
        path="/v1/sessions",
        handler=create,
        summary="Make a session.",
        body=CreateBody,
        answer=Created,
        status=201,
        refusals=("conflict", "cap_reached", "unavailable", "client_mcp_unreachable"),
    ),
    Route(
        method="GET",
        path="/v1/sessions",
        handler=list_,
        summary="The caller's sessions by time of creation.",
        answer=SessionPage,
        query=PAGED,
    ),
    Route(method="GET", path=ONE, handler=show, summary="A session as it stands.", answer=SessionAnswer),
    Route(
        method="PATCH",
        path=ONE,
        handler=change,
        summary="Change a session; it holds from the next model request on.",
        body=PatchBody,
        answer=SessionAnswer,
        refusals=("conflict", "cap_reached"),
    ),
    Route(method="DELETE", path=ONE, handler=close, summary="Close a session.", answer=NOTHING, status=204),
    Route(
        method="POST",
        path=f"{ONE}/delete",
        handler=delete,
        summary="Remove a session with its audit and its events.",
        answer=NOTHING,
        status=204,
        refusals=("busy",),
    ),
    Route(
        method="POST",
        path=f"{ONE}/approve",
        handler=approve,
        summary="Give the verdict on the open ask.",
        body=ApproveBody,
        answer=NOTHING,
        status=204,
        refusals=("conflict", "cap_reached"),
    ),
    Route(
        method="POST",
        path=f"{ONE}/cancel",
        handler=cancel,
        summary="End the run under way, or the ask that waits.",
        answer=NOTHING,
        status=204,
        refusals=("busy", "cap_reached"),
    ),
    Route(
        method="GET",
        path=f"{ONE}/tools",
        handler=tools,
        summary="The tools that the next model request would list.",
        answer=Specs,
        refusals=("busy", "cap_reached"),
    ),
    Route(
        method="GET",
        path=f"{ONE}/calls",
        handler=calls,
        summary="Audit records of the session's calls.",
        answer=CallPage,
        query=PAGED,
        refusals=("unsupported",),
    ),
)
