"""A server's question to a person: put to the session whose call is open, checked, and never in the way of others."""

import logging
from collections.abc import Mapping
from typing import Final

import anyio

from hilt.core.mcp_text import clean_text
from hilt.core.mcp_url import is_loopback, origin_of
from hilt.core.schema import output_violation
from hilt.ports.elicitation import ElicitAnswer, Elicitation, Elicitor
from hilt.ports.mcp import Asker
from hilt.ports.tool import Environment

logger = logging.getLogger(__name__)

TRIES_MAX: Final = 3
MESSAGE_MAX_CHARS: Final = 10_000
KEEP_ALIVE_S: Final = 0.5
DECLINED: Final[Mapping[str, object]] = {"action": "decline"}


def asker(env: Environment, server: str) -> Asker | None:
    """Return who answers for the call of this environment; None where nobody does."""
    try:
        elicitor = env.service(Elicitor)  # type: ignore[type-abstract]  # named by its Protocol
    except LookupError:
        return None

    async def elicit(params: Mapping[str, object]) -> Mapping[str, object]:
        return await _elicited(elicitor, params, env, server)

    return Asker(session_id=env.session_id, elicit=elicit)


async def _elicited(
    elicitor: Elicitor, params: Mapping[str, object], env: Environment, server: str
) -> Mapping[str, object]:
    asked = _question(params, env, server)
    if asked is None:
        return DECLINED
    async with anyio.create_task_group() as group:
        group.start_soon(_keep_alive, env)
        answer = await _answer(elicitor, asked)
        group.cancel_scope.cancel()
    return answer


async def _keep_alive(env: Environment) -> None:
    """Hold the idle limit of the call off while a person thinks."""
    while True:
        env.keep_alive()
        await anyio.sleep(KEEP_ALIVE_S)


def _question(params: Mapping[str, object], env: Environment, server: str) -> Elicitation | None:
    """Return the question as a person may see it; None for one that cannot be put."""
    message, schema, url = params.get("message"), params.get("requestedSchema"), params.get("url")
    text = clean_text(message)[:MESSAGE_MAX_CHARS] if isinstance(message, str) else ""
    match params.get("mode", "form"):
        case "url" if isinstance(url, str) and _may_be_visited(url):
            return Elicitation(server=server, message=text, session_id=env.session_id, url=url)
        case "form" if isinstance(schema, Mapping):
            return Elicitation(server=server, message=text, session_id=env.session_id, schema=schema)
    logger.warning("mcp_elicitation_declined server=%s why=malformed", server)
    return None


def _may_be_visited(url: str) -> bool:
    origin = origin_of(url)
    return origin is not None and (origin[0] == "https" or is_loopback(url))


async def _answer(elicitor: Elicitor, asked: Elicitation) -> Mapping[str, object]:
    """Ask until the answer fits the schema, at most three times."""
    problem = ""
    for _ in range(TRIES_MAX):
        try:
            given = await elicitor.elicit(
                Elicitation(
                    server=asked.server,
                    message=asked.message,
                    session_id=asked.session_id,
                    schema=asked.schema,
                    url=asked.url,
                    problem=problem,
                )
            )
        except Exception:
            # The host's own code; the server still gets its answer.
            logger.exception("elicitor_crashed server=%s", asked.server)
            return DECLINED
        if given.action != "accept":
            return {"action": given.action}
        if asked.url:
            return {"action": "accept"}
        content = with_defaults(asked.schema, given)
        problem = _misfit(asked.schema, content)
        if not problem:
            return {"action": "accept", "content": content}
    logger.warning("mcp_elicitation_declined server=%s why=answer_does_not_fit", asked.server)
    return DECLINED


def with_defaults(schema: Mapping[str, object], answer: ElicitAnswer) -> dict[str, object]:
    """Return the content with the schema's defaults where a property was left out."""
    content = dict(answer.content)
    properties = schema.get("properties")
    for name, about in properties.items() if isinstance(properties, Mapping) else ():
        if name not in content and isinstance(about, Mapping) and "default" in about:
            content[name] = about["default"]
    return content


def _misfit(schema: Mapping[str, object], content: Mapping[str, object]) -> str:
    try:
        found, _ = output_violation(schema, content)
    except (ValueError, RecursionError):
        return "the server's schema cannot be used"
    return found
