"""SubagentStatus: shows the child agents, or what one of them found."""

import json
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.builtins.delegation.reach import children_of
from hilt.core.args import Args
from hilt.core.child import Child, short
from hilt.core.json_text import cut
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.results import RetainedResults
from hilt.ports.tool import Environment

OUTPUT_CAP_BYTES: Final = 25_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentStatusArgs:
    """Arguments of `SubagentStatus`."""

    agent_id: Annotated[str | None, Field(description="Id of one agent; all of them without.")] = None
    wait_secs: Annotated[int, Field(ge=0, le=120, description="Seconds to wait for the end of that agent.")] = 0


class SubagentStatus:
    """Returns the child agents, or one with its result."""

    _args = Args(SubagentStatusArgs)
    read_only = True
    spec = ToolSpec(
        "SubagentStatus",
        "Return the child agents of this session as a JSON array, or with agent_id one of them with its result. "
        "Use it to read what an agent in the background found, or with wait_secs to wait for it. "
        "Do not use it to ask again and again: a notice tells the end of each agent in the background. "
        "Limits: the last 256 agents that ended are known.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return all, or one."""
        args = self._args.decode(call)
        children = children_of(env)
        if args.agent_id is None:
            return _json(call, [_shown(child) for child in children.children()])
        child = await children.report(args.agent_id, wait_s=float(args.wait_secs))
        body = {**_shown(child), "error": child.error or None, "result": ""}
        keep = env.service(RetainedResults).keep  # type: ignore[type-abstract]  # the host names it by its port
        room = OUTPUT_CAP_BYTES - len(json.dumps(body, ensure_ascii=False).encode())
        return _json(call, {**body, "result": cut(child.output, room, keep=keep)})


def _shown(child: Child) -> dict[str, object]:
    return {
        "agent_id": child.id,
        "name": child.name,
        "description": short(child.description),
        "state": child.state,
        "background": child.background,
        "duration_ms": round(child.duration_s * 1000),
        "tokens_used": child.tokens,
        "tool_calls": child.calls,
    }


def _json(call: ToolCall, body: object) -> ToolResult:
    return ToolResult.text(call.id, json.dumps(body, ensure_ascii=False))
