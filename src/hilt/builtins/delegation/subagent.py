"""The `Subagent` tool: a task handed to a child agent, its last answer as the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from hilt.builtins.delegation.reach import children_of
from hilt.core.args import Args
from hilt.core.child import STARTED, TOKENS_FLOOR, Child, ChildLimits, ChildOrder, ToolAccess, check_order
from hilt.core.child_definition import ChildDefinition, listed
from hilt.core.errors import ToolError
from hilt.core.permission import Subject, Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment

Mode = Literal["read-only", "read-write"]

FOREGROUND_S: Final = 3600
MARGIN_S: Final = 10.0
START_S: Final = 60.0


DESCRIPTION: Final = (
    "Hand a task to a child agent with your tools, but those for agents, and return its last answer, then "
    "`agent_id: ID`. It knows nothing of this conversation unless `fork` is given, and only reads unless mode is "
    "read-write. Several in one answer work at the same time while they only read. "
    "Use it for work that reads much and whose answer is short, such as a search in many files. "
    "Do not use it for what one or two calls of yours can do. "
    "Limits: a few run at once; each counts towards your limits of tokens and tool calls. `fork` goes with "
    "neither agent, model nor resume, and read-write not with background."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentArgs:
    """Arguments of `Subagent`."""

    prompt: Annotated[str, Field(description="The whole task, with all that the agent has to know.")]
    description: Annotated[str | None, Field(description="The task in a few words, for those who watch.")] = None
    agent: Annotated[str | None, Field(description="Name of an agent definition.")] = None
    model: Annotated[str | None, Field(description="Its model; yours by default.")] = None
    resume: Annotated[str | None, Field(description="Id of an agent that has ended and goes on with this.")] = None
    tools: Annotated[tuple[str, ...] | None, Field(description="Which of your tools it has; all by default.")] = None
    max_turns: Annotated[int | None, Field(description="Model requests that it may send.")] = None
    max_tool_calls: Annotated[int | None, Field(description="Tool calls that it may make.")] = None
    max_run_tokens: Annotated[
        int | None, Field(description=f"Tokens that it may use; less than {TOKENS_FLOOR} counts as that.")
    ] = None
    timeout_secs: Annotated[int | None, Field(description="Seconds that it may take.")] = None
    output_schema: Annotated[
        dict[str, object] | None, Field(description="JSON Schema that its last answer must fit.")
    ] = None
    fork: Annotated[bool, Field(description="Give it all messages of this conversation.")] = False
    background: Annotated[bool, Field(description="Return at once; a notice tells its end.")] = False
    mode: Annotated[Mode, Field(description="Whether it may change anything.")] = "read-only"


class Subagent:
    """Runs a child agent and returns its last answer."""

    _args = Args(SubagentArgs)
    read_only = True

    def __init__(self, agents: Sequence[ChildDefinition] = ()) -> None:
        """Take the definitions that `agent` can name."""
        self.spec = ToolSpec("Subagent", DESCRIPTION + listed(agents), self._args.schema)

    def read_only_for(self, call: ToolCall) -> bool:
        """Tell whether the child only reads."""
        return call.arguments.get("mode", "read-only") == "read-only"

    def deadline_s(self, call: ToolCall) -> float:
        """Return the child's own time and ten seconds; in the background a start takes a minute at most."""
        args = self._args.decode(call)
        return START_S if args.background else max(args.timeout_secs or FOREGROUND_S, 0) + MARGIN_S

    def subjects(self, call: ToolCall) -> Subjects:
        """Return the agent definition's name, and `agent`, `model` and `mode` by name."""
        args = self._args.decode(call)
        agent = (Subject(text=args.agent),) if args.agent else ()
        model = (Subject(text=args.model),) if args.model else ()
        return Subjects(unnamed=agent, named={"agent": agent, "model": model, "mode": (Subject(text=args.mode),)})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Run the child, or start it in the background.

        Raises:
            ToolError: What is asked for cannot be done, or the child failed.
        """
        args = self._args.decode(call)
        order = self._order(call, args)
        check_order(order, read_write=args.mode == "read-write", background=args.background)
        children = children_of(env)
        if args.background:
            child = await children.start(order)
            text = f"{STARTED}. A notice tells its end; SubagentStatus shows how it stands."
            return ToolResult.text(call.id, _signed(text, child))
        child = await children.run(order, progress=lambda done, text: env.progress(done, None, text))
        if child.state == "completed":
            return ToolResult.text(call.id, _signed(child.output, child))
        so_far = f"\nIts last answer:\n{child.output}" if child.output else ""
        raise ToolError.execution_failed(
            f"the child agent {child.name} {_ended(child)}: {child.error}.{so_far}\nagent_id: {child.id}"
        )

    def _order(self, call: ToolCall, args: SubagentArgs) -> ChildOrder:
        seconds = args.timeout_secs or (None if args.background else FOREGROUND_S)
        return ChildOrder(
            prompt=args.prompt,
            description=args.description or "",
            agent=args.agent or "",
            model=args.model or "",
            resume=args.resume or "",
            access=ToolAccess() if args.tools is None else ToolAccess(policy="allow_list", tools=args.tools),
            limits=ChildLimits(
                max_turns=args.max_turns,
                max_tool_calls=args.max_tool_calls,
                max_tokens=args.max_run_tokens,
                max_seconds=seconds,
            ),
            fork=args.fork,
            read_only=args.mode == "read-only",
            output_schema=args.output_schema,
            call_id=call.id,
        )


def _signed(text: str, child: Child) -> str:
    return f"{text}\n\nagent_id: {child.id}"


def _ended(child: Child) -> str:
    return "was cancelled" if child.state == "cancelled" else "failed"
