"""What dispatch would decide on a call, with the rules that won and lost; nothing runs and nobody is asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from hilt.core.errors import ToolError
from hilt.core.permission import Decision, PermissionRule
from hilt.core.rulebook import Explanation
from hilt.core.session import Mode
from hilt.core.tool import ToolCall
from hilt.engine.asking import AskDesk
from hilt.engine.emitter import Emitter
from hilt.engine.funnel import Parts
from hilt.engine.gate import Gate, GateSetup, TurnView
from hilt.engine.hook import HookChain
from hilt.engine.pending import Pending
from hilt.engine.visibility import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The decision on one call: the gate's own, the rules' for it and for each call it acts for.

    `decision` is None where a step before the rules refuses the call; `refusal` says why.
    """

    tool: str
    decision: Decision | None = None
    refusal: ToolError | None = None
    explanation: Explanation | None = None
    targets: Sequence["Explained"] = ()


async def explain(
    parts: Parts,
    call: ToolCall,
    *,
    mode: Mode = Mode.DEFAULT,
    visibility: Visibility | None = None,
    grants: Sequence[PermissionRule] = (),
) -> Explained:
    """Take a call through the steps of the gate, hooks and guardrails left out, and return what they found."""
    emitter = Emitter()
    gate = Gate(
        GateSetup(cwd=parts.cwd, lost_servers=parts.lost_servers),
        catalog=parts.catalog,
        rules=parts.rules,
        hooks=HookChain((), execution=parts.execution, emitter=emitter),
        desk=AskDesk(None, emitter=emitter),
        workspace=parts.env.workspace,
    )
    view = TurnView(mode=mode, visibility=visibility or Visibility(), grants=list(grants))
    pending = Pending(asked=call, call=call)
    gate.open(pending, view)
    refusal = pending.refusal
    if refusal is None:
        await gate.admit([pending], view, {})
    explanation = None
    if pending.subjects is not None:
        explanation = parts.rules.explain(
            pending.name, pending.subjects, mode=mode, grants=grants, read_only=pending.read_only
        )
    return Explained(
        tool=pending.name,
        decision=pending.decision,
        refusal=refusal,
        explanation=explanation,
        targets=[await explain(parts, target.call, mode=mode, visibility=visibility) for target in pending.targets],
    )
