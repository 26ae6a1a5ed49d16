"""agent_fork: starts a child agent that knows this conversation."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.agents.reach import START_S, AccessArgs, children_of, json_result, start_subjects, started
from hilt.core.args import Args
from hilt.core.child import BUDGET_POLICY, ChildOrder
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentForkArgs:
    """Arguments of `agent_fork`."""

    prompt: Annotated[str, Field(description="What the fork does.")]
    provider: Annotated[str | None, Field(description="Provider of its model; yours by default.")] = None
    model: Annotated[str | None, Field(description="Its model; yours by default.")] = None
    tool_access: Annotated[AccessArgs | None, Field(description="Which of your tools it has; all by default.")] = None
    budget_policy: Annotated[
        str,
        Field(
            pattern=BUDGET_POLICY,
            description=(
                "Its part of the tokens that you have left: all (remaining), divided among you, the agents that run "
                "and this one (equal), the same for each agent that could run (proportional), or a number (fixed:N)."
            ),
        ),
    ] = "remaining"


class AgentFork:
    """Starts a child agent that has all messages of this conversation."""

    _args = Args(AgentForkArgs)
    read_only = False
    timeout_s = START_S
    subjects = staticmethod(start_subjects)
    spec = ToolSpec(
        "agent_fork",
        "Start a child agent in the background that knows all of this conversation and goes its own way from here; "
        "returns agent_id, name, provider, model, state, message and messages_inherited as JSON. "
        "Use it to try something beside your own work that needs what was said so far. "
        "Do not use it for a task that can be told in a few sentences (agent_spawn): a fork costs the whole "
        "conversation again. Limits: a few run at once; each counts towards your limits of tokens and tool calls.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Start the fork."""
        args = self._args.decode(call)
        order = ChildOrder(
            prompt=args.prompt,
            provider=args.provider or "",
            model=args.model or "",
            access=(args.tool_access or AccessArgs()).access(),
            fork=True,
            budget_policy=args.budget_policy,
            call_id=call.id,
        )
        child = await children_of(env).start(order)
        return json_result(call, {**started(child), "messages_inherited": child.inherited})
