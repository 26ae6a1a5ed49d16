"""agent_spawn: starts a child agent in the background."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.agents.reach import START_S, AccessArgs, children_of, json_result, start_subjects, started
from hilt.core.args import Args
from hilt.core.child import TOKENS_FLOOR, ChildLimits, ChildOrder
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetArgs:
    """What a child may use."""

    max_tokens: Annotated[int | None, Field(description=f"Tokens; less than {TOKENS_FLOOR} counts as that.")] = None
    max_turns: Annotated[int | None, Field(description="Model requests.")] = None
    max_tool_calls: Annotated[int | None, Field(description="Tool calls.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpawnArgs:
    """Arguments of `agent_spawn`."""

    prompt: Annotated[str, Field(description="The whole task, with all that the agent has to know.")]
    provider: Annotated[str | None, Field(description="Provider of its model; yours by default.")] = None
    model: Annotated[str | None, Field(description="Its model; yours by default.")] = None
    system_prompt: Annotated[str | None, Field(description="Its system prompt; yours by default.")] = None
    tool_access: Annotated[AccessArgs | None, Field(description="Which of your tools it has; all by default.")] = None
    budget: Annotated[BudgetArgs | None, Field(description="What it may use; what you have left by default.")] = None


class AgentSpawn:
    """Starts a child agent that knows nothing but its prompt."""

    _args = Args(AgentSpawnArgs)
    read_only = False
    timeout_s = START_S
    subjects = staticmethod(start_subjects)
    spec = ToolSpec(
        "agent_spawn",
        "Start a child agent that works on a task in the background, with your tools but those for agents; returns "
        "agent_id, name, provider, model, state and message as JSON. It knows nothing of this conversation. "
        "Use it for work that goes on beside yours. "
        "Do not use it for what needs this conversation (agent_fork), or for what you do faster yourself. "
        "Limits: a few run at once; each counts towards your limits of tokens and tool calls.",
        _args.schema,
    )

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Start the agent."""
        args = self._args.decode(call)
        access, budget = args.tool_access or AccessArgs(), args.budget or BudgetArgs()
        order = ChildOrder(
            prompt=args.prompt,
            provider=args.provider or "",
            model=args.model or "",
            system_prompt=args.system_prompt,
            access=access.access(),
            limits=ChildLimits(
                max_turns=budget.max_turns, max_tool_calls=budget.max_tool_calls, max_tokens=budget.max_tokens
            ),
            call_id=call.id,
        )
        return json_result(call, started(await children_of(env).start(order)))
