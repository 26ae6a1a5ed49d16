"""agent_status: shows how one child agent stands, and what it found."""

import json
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.agents.reach import OUTPUT_CAP_BYTES, children_of, json_result
from hilt.core.args import Args
from hilt.core.json_text import cut
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.results import RetainedResults
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatusArgs:
    """Arguments of `agent_status`."""

    agent_id: Annotated[str, Field(description="Id of the agent.")]
    wait_secs: Annotated[int, Field(ge=0, le=120, description="Seconds to wait for its end.")] = 0


class AgentStatus:
    """Returns one child agent."""

    _args = Args(AgentStatusArgs)
    read_only = True
    spec = ToolSpec(
        "agent_status",
        "Return how one child agent stands as JSON: agent_id, state (running, completed, failed, cancelled), output "
        "(its last answer), error, is_final, duration_ms and tokens_used. "
        "Use it to read what an agent found, or with wait_secs to wait for it. "
        "Do not use it to ask again and again: a notice tells the end of each agent in the background. "
        "Limits: the last 256 agents that ended are known.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the agent."""
        args = self._args.decode(call)
        child = await children_of(env).report(args.agent_id, wait_s=float(args.wait_secs))
        body: dict[str, object] = {
            "agent_id": child.id,
            "state": child.state,
            "output": "",
            "error": child.error or None,
            "is_final": child.ended,
            "duration_ms": round(child.duration_s * 1000),
            "tokens_used": child.tokens,
        }
        keep = env.service(RetainedResults).keep  # type: ignore[type-abstract]  # the host names it by its port
        room = OUTPUT_CAP_BYTES - len(json.dumps(body, ensure_ascii=False).encode())
        return json_result(call, {**body, "output": cut(child.output, room, keep=keep)})
