"""The OpenAPI document of the route table: schemas from the types that bodies and answers are read and written by."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from hilt.api.errors import STATUS
from hilt.api.table import EVENTS, NOTHING, TEXT, Route
from hilt.api.wire import ErrorAnswer
from hilt.core.version import VERSION

_REFERENCE: Final = "#/components/schemas/{name}"
_EVERY: Final = ("internal",)
_FOR_CALLERS: Final = ("unauthenticated", "forbidden", "rate_limited", "unavailable")
_MEANING: Final = {
    400: "Something in the request is wrong; the message names it.",
    401: "No known bearer token.",
    403: "It is not allowed here.",
    404: "There is no such session for this caller.",
    409: "The state of the session does not admit it.",
    413: "The body is over 1 MiB.",
    429: "Too many requests or sessions; see Retry-After.",
    500: "Something in hilt failed.",
    501: "This service cannot do it.",
    503: "The service, or an MCP server that was brought, is not there.",
}

Object = dict[str, object]


def document(routes: Sequence[Route], *, needs_token: bool) -> Object:
    """Return the document of a service that takes tokens or takes anybody."""
    kinds: list[type] = [ErrorAnswer]
    for route in routes:
        used = (route.body, route.answer, *route.more.values())
        kinds += [kind for kind in used if isinstance(kind, type) and kind not in kinds]
    found, components = msgspec.json.schema_components(kinds, schema_hook=_any_value, ref_template=_REFERENCE)
    schemas = dict(zip(kinds, found, strict=True))
    paths: dict[str, Object] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "hilt", "version": VERSION, "summary": "Sessions over HTTP."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if needs_token else [],
    }


def _any_value(kind: type) -> Object:
    """Return the schema of values that are JSON of any kind.

    Raises:
        NotImplementedError: It is no such type.
    """
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError  # msgspec asks for its own types so; any other is a mistake in `wire`


def _operation(route: Route, schemas: Mapping[type, Object]) -> Object:
    operation: Object = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}_{_plain(route.path)}",
        "responses": _responses(route, schemas),
    }
    if _parameters(route):
        operation["parameters"] = _parameters(route)
    if route.body is not None:
        operation["requestBody"] = {
            "required": any(item.required for item in msgspec.structs.fields(route.body)),
            "content": {"application/json": {"schema": schemas[route.body]}},
        }
    if route.open_to_all:
        operation["security"] = []
    return operation


def _plain(path: str) -> str:
    return "_".join(part.strip("{}") for part in path.split("/") if part).replace(".", "_")


def _parameters(route: Route) -> list[Object]:
    found: list[Object] = []
    if "{id}" in route.path:
        found.append({"name": "id", "in": "path", "required": True, "schema": {"type": "string"}})
    for name, what in route.query.items():
        kind: Object = {"type": "string"} if name == "cursor" else {"type": "integer", "minimum": 0}
        found.append({"name": name, "in": "query", "description": what, "schema": kind})
    return found


def _responses(route: Route, schemas: Mapping[type, Object]) -> Object:
    responses: Object = {str(route.status): _given(route.answer, schemas)}
    for status, kind in route.more.items():
        responses[str(status)] = _given(kind, schemas)
    for status in sorted({STATUS[code] for code in refusals(route)} - {route.status, *route.more}):
        schema = schemas[ErrorAnswer]
        responses[str(status)] = {"description": _MEANING[status], "content": {"application/json": {"schema": schema}}}
    return responses


def refusals(route: Route) -> tuple[str, ...]:
    """Return the codes with which a route may refuse."""
    codes = (*_EVERY, *route.refusals)
    if not route.open_to_all:
        codes += _FOR_CALLERS
    else:
        codes += ("forbidden",)
    if route.body is not None:
        codes += ("bad_request", "too_large")
    if route.query:
        codes += ("bad_request",)
    if "{id}" in route.path:
        codes += ("not_found",)
    return codes


def _given(kind: type | str, schemas: Mapping[type, Object]) -> Object:
    match kind:
        case str() if kind == NOTHING:
            return {"description": "Done."}
        case str() if kind == EVENTS:
            return {"description": "Events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
        case str() if kind == TEXT:
            return {"description": "Text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
        case str():
            return {"description": "An object.", "content": {"application/json": {"schema": {"type": "object"}}}}
        case _:
            what = (kind.__doc__ or "").partition("\n")[0]
            return {"description": what, "content": {"application/json": {"schema": schemas[kind]}}}
