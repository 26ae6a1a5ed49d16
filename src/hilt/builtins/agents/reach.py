"""How the tools reach the child agents of the session, what two of them take alike, and how they answer."""

import json
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.core.child import STARTED, Child, Policy, ToolAccess, split_model
from hilt.core.errors import ToolError
from hilt.core.permission import Subject, Subjects
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.child import ChildAgents
from hilt.ports.tool import Environment

OUTPUT_CAP_BYTES: Final = 25_000
START_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessArgs:
    """Which tools a child has."""

    policy: Annotated[
        Policy | None,
        Field(description="All that you see (inherit), only `tools` (allow_list), or all but `tools` (deny_list)."),
    ] = None
    tools: Annotated[tuple[str, ...] | None, Field(description="Names of tools.")] = None

    def access(self) -> ToolAccess:
        """Return it as the session understands it: tools that are named without a policy are all that the child has.

        Raises:
            ToolError: Tools are named beside `inherit`, which would leave the child all others too.
        """
        if self.policy == "inherit" and self.tools is not None:
            raise ToolError.invalid_arguments(
                "tool_access: policy inherit takes no tools; take allow_list or deny_list, or leave tools out"
            )
        policy = self.policy or ("inherit" if self.tools is None else "allow_list")
        return ToolAccess(policy=policy, tools=self.tools or ())


def children_of(env: Environment) -> ChildAgents:
    """Return the child agents of the session.

    Raises:
        ToolError: It cannot have any.
    """
    try:
        return env.service(ChildAgents)  # type: ignore[type-abstract]  # the host names it by its port
    except LookupError:
        raise ToolError.unavailable("this agent cannot start child agents") from None


def start_subjects(call: ToolCall) -> Subjects:
    """Return what rules see of a start: no agent definition, the model if one is named, no mode."""
    model = call.arguments.get("model")
    named = (Subject(text=model),) if isinstance(model, str) else ()
    return Subjects(unnamed=(), named={"agent": (), "model": named, "mode": ()})


def started(child: Child) -> dict[str, object]:
    """Return what the model is told of a start."""
    provider, model = split_model(child.model)
    message = f"{STARTED}. A notice tells its end; agent_status shows how it stands, agent_cancel ends it."
    return {
        "agent_id": child.id,
        "name": child.name,
        "provider": provider,
        "model": model,
        "state": child.state,
        "message": message,
    }


def json_result(call: ToolCall, body: object) -> ToolResult:
    """Return a result of JSON text."""
    return ToolResult.text(call.id, json.dumps(body, ensure_ascii=False))
