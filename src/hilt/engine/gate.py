"""Before a call: find the tool, mode, arguments, rules, hooks, again after a rewrite, ask, outbound guardrail.

Every path to a tool leads through here. Steps 2 to 4 of a turn's calls need no waiting and are taken at once, so
that the phases are planned on decoded arguments; the rest is taken phase by phase.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from difflib import get_close_matches

from hilt.core.arguments.decoding import decode_arguments
from hilt.core.check import Check, check_of
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.frozen import frozen
from hilt.core.hook import HookEvent, HookInput
from hilt.core.permission import Decision, Effect, PermissionRule, Scope, Subject, Subjects
from hilt.core.rulebook import RuleBook, worst
from hilt.core.session import Mode
from hilt.core.subjects import argument_subjects
from hilt.core.tool import ToolCall, ToolSpec, canonical_json
from hilt.engine.asking import AskDesk
from hilt.engine.catalog import Catalog, Entry
from hilt.engine.guardrail import GuardrailChain
from hilt.engine.hook import HookChain, HookPass
from hilt.engine.pending import Pending, Target, own_copy
from hilt.engine.visibility import Visibility
from hilt.ports.permission import Verdict
from hilt.ports.workspace import Workspace

logger = logging.getLogger(__name__)


@frozen
class TurnView:
    """What held when the model request was built, and so holds for all calls of its answer.

    `names` maps the names that the provider got to catalog names where they differ; `grants` is the
    conversation's own list, so that an answer given during the turn counts for the next call. `learn` returns the full
    schema of a tool that the model does not have yet, and notes that it has it now. `canonical` turns
    property keys that were sent back into the tool's own. `reads_only` refuses every call that does not read.
    """

    mode: Mode = Mode.DEFAULT
    visibility: Visibility = field(default_factory=Visibility)
    names: Mapping[str, str] = field(default_factory=dict)
    grants: list[PermissionRule] = field(default_factory=list)
    learn: Callable[[str], Mapping[str, object] | None] | None = None
    canonical: Callable[[ToolCall, ToolSpec], ToolCall] | None = None
    reads_only: bool = False


@frozen
class GateSetup:
    """Who is asked for, as hooks are told; `lost_servers` brought tools before the session was opened again."""

    session_id: str = ""
    cwd: str = ""
    agent_id: str = ""
    lost_servers: tuple[str, ...] = ()


class Gate:
    """Decides on calls. What it finds out is written into the pending call."""

    def __init__(  # noqa: PLR0913 - keyword-only parts of the funnel
        self,
        setup: GateSetup,
        *,
        catalog: Catalog,
        rules: RuleBook,
        hooks: HookChain,
        desk: AskDesk,
        guardrails: GuardrailChain | None = None,
        workspace: Workspace | None = None,
    ) -> None:
        self._setup = setup
        self._catalog = catalog
        self._rules = rules
        self._hooks = hooks
        self._desk = desk
        self._guardrails = guardrails
        self._workspace = workspace
        self._checks: dict[str, Check] = {}
        self._keys: dict[str, tuple[str, ...]] = {}

    def open(self, pending: Pending, view: TurnView) -> None:
        """Take steps 2 to 4 on the model's own arguments."""
        if pending.refusal is not None:
            return
        asked = pending.asked
        name = view.names.get(asked.name, asked.name)
        call = asked if name == asked.name else ToolCall(asked.id, name, asked.args)
        pending.call = call
        try:
            entry = pending.entry = self._find(name, view)
            if view.canonical is not None:
                call = pending.call = view.canonical(call, entry.spec)
            pending.call = self._checked(pending, entry, call)
            self._classify(pending, entry, view)
        except Exception as error:
            pending.refuse(_taught(_refusal(error, pending), view, name))

    async def admit(self, calls: Sequence[Pending], view: TurnView, verdicts: Mapping[str, Verdict]) -> None:
        """Take steps 5 to 9 for the calls of a phase: rules, hooks, again, ask, guardrail."""
        for call in calls:
            await self._decide(call, view)
        await self._pre_hooks([call for call in calls if call.refusal is None], view)
        for call in calls:
            if call.asks:
                await self._ask(call, view, verdicts)
        if self._guardrails is not None:
            for call in calls:
                await self._guard(call, self._guardrails)

    def _find(self, name: str, view: TurnView) -> Entry:
        entry = self._catalog.entry(name)
        if entry is None:
            for server in self._setup.lost_servers:
                if name.startswith(f"mcp__{server}__"):
                    raise ToolError.unavailable(f"its MCP server {server!r} was not brought along again")
            visible = [known for known in self._catalog.names if view.visibility.sees(known)]
            sent = {canonical: wire for wire, canonical in view.names.items()}
            near = get_close_matches(name, visible, n=3, cutoff=0.5)
            raise ToolError.not_found(name, tuple(sent.get(known, known) for known in near))
        reason = self._catalog.withdrawn(name)
        if reason is not None:
            raise ToolError.unavailable(reason)
        if not view.visibility.sees(name):
            raise ToolError.access_denied("the tool filter of this session hides it")
        if view.mode is Mode.PLAN and not entry.read_only:
            raise ToolError.access_denied("plan mode admits only tools that read")
        return entry

    def _checked(self, pending: Pending, entry: Entry, call: ToolCall) -> ToolCall:
        """Decode, recover, coerce and validate; the decoded object is what every later step sees."""
        decoded = decode_arguments(call.args)
        return self._validated(pending, entry, call, decoded.arguments, decoded.notes)

    def _validated(
        self,
        pending: Pending,
        entry: Entry,
        call: ToolCall,
        arguments: dict[str, object],
        notes: Sequence[str],
    ) -> ToolCall:
        checked = self._check(entry).check(arguments)
        for warning in checked.warnings:
            logger.warning("tool_schema tool=%s %s", entry.spec.name, warning)
        pending.notes.extend(notes)
        pending.notes.extend(checked.coercions)
        text = canonical_json(checked.arguments) if notes or checked.coercions else None
        return call.with_arguments(checked.arguments, args=text)

    def _check(self, entry: Entry) -> Check:
        name = entry.spec.name
        check = self._checks.get(name)
        if check is None:
            check = check_of(name, entry.spec.schema_json, strict_keys=entry.source == "builtin")
            self._checks[name] = check
            for warning in check.warnings:
                logger.warning("tool_schema tool=%s %s", name, warning)
        return check

    def _classify(self, pending: Pending, entry: Entry, view: TurnView) -> None:
        """Settle on the final arguments whether the call reads, with its targets, and hold it against the mode."""
        pending.targets = [self._target(call, view) for call in _targets(entry, pending.call)]
        pending.read_only = _reads(entry, pending.call) and all(t.read_only for t in pending.targets)
        if view.mode is Mode.PLAN and not pending.read_only:
            raise ToolError.access_denied("plan mode admits only calls that read")
        if view.reads_only and not pending.read_only:
            raise ToolError.access_denied("this child agent may only read")

    def _target(self, call: ToolCall, view: TurnView) -> Target:
        entry = self._find(call.name, view)
        checked = self._check(entry).check(call.arguments)
        final = call.with_arguments(checked.arguments)
        return Target(entry=entry, call=final, read_only=_reads(entry, final))

    async def _decide(self, pending: Pending, view: TurnView) -> None:
        """Take step 5: the tool's own policy, then the rules, for the call and its targets."""
        if pending.refusal is not None or pending.entry is None:
            return
        try:
            own = await self._decision(pending, pending.entry, pending.call, view)
            pending.own_asks = own.effect is Effect.ASK
            decisions = [own]
            for target in pending.targets:
                decided = await self._decision(target, target.entry, target.call, view)
                if not _covered(decided, own, pending.entry):
                    decisions.append(decided)
        except Exception as error:
            pending.refuse(_refusal(error, pending))
            return
        pending.decision = decision = worst(decisions) if pending.targets else decisions[0]
        if decision.effect is Effect.DENY:
            pending.refuse(ToolError.access_denied(decision.reason))

    async def _decision(self, of: Pending | Target, entry: Entry, call: ToolCall, view: TurnView) -> Decision:
        refuses = getattr(entry.tool, "refuses", None)
        if callable(refuses) and (reason := refuses(call)):
            return Decision(effect=Effect.DENY, reason=str(reason))
        of.subjects = subjects = await self._subjects(entry, call)
        decision = self._rules.decide(
            entry.spec.name,
            subjects,
            mode=view.mode,
            grants=view.grants,
            read_only=of.read_only,
        )
        must_ask = getattr(entry.tool, "must_ask", None)
        if decision.effect is Effect.ALLOW and callable(must_ask) and (reason := must_ask(call)):
            return Decision(effect=Effect.ASK, reason=str(reason), rememberable=False)
        return decision

    async def _subjects(self, entry: Entry, call: ToolCall) -> Subjects:
        own = getattr(entry.tool, "subjects", None)
        if not callable(own):
            keys = self._keys.get(entry.spec.name)
            if keys is None:
                properties = entry.spec.schema.get("properties")
                keys = tuple(properties) if isinstance(properties, dict) else ()
                self._keys[entry.spec.name] = keys
            return argument_subjects(call.arguments, keys)
        subjects: Subjects = own(call)
        if self._workspace is None:
            return subjects
        unnamed = subjects.unnamed
        if unnamed is not None:
            unnamed = tuple([await self._located(subject) for subject in unnamed])
        named = {
            key: tuple([await self._located(subject) for subject in values]) for key, values in subjects.named.items()
        }
        return Subjects(unnamed=unnamed, named=named)

    async def _located(self, subject: Subject) -> Subject:
        """Add the path as resolved to a path as written, so that both are decided."""
        if subject.kind != "path" or self._workspace is None:
            return subject
        found = await self._workspace.locate(subject.text)
        also = () if found.resolved == found.written else (found.resolved,)
        return replace(subject, text=found.written, also=also)

    async def _pre_hooks(self, calls: Sequence[Pending], view: TurnView) -> None:
        """Take steps 6 and 7: hooks may deny, ask or rewrite; what they rewrote is decided again."""
        passes: list[tuple[Pending, HookPass]] = []
        for call in calls:
            names = (call.name, *(target.call.name for target in call.targets))
            hooks = self._hooks.matching(HookEvent.PRE_TOOL_USE, *names)
            if hooks:
                passes.append((call, HookPass(hooks=hooks, seen=self._input(call, view))))
        if not passes:
            return
        await self._hooks.run([one for _, one in passes])
        for call, one in passes:
            call.hooks.extend(one.ran)
            call.contexts.extend(one.contexts)
            if one.stopped:
                call.refuse(ToolError.access_denied(f"hook {one.blocked_by!r}: {one.blocked}"))
                continue
            if one.asked_by:
                call.hook_asks = (one.asked_by, one.asked)
            if one.rewrote_input and one.seen.tool_input is not None:
                await self._again(call, one, view)

    async def _again(self, call: Pending, one: HookPass, view: TurnView) -> None:
        entry = call.entry
        if entry is None or one.seen.tool_input is None:
            return
        arguments = dict(one.seen.tool_input)
        call.notes.append(f"rewritten by hook {', '.join(one.rewrote_by)}")
        try:
            text = canonical_json(arguments)
            fresh = ToolCall(call.call.id, call.call.name, text, arguments=arguments)
            call.call = self._validated(call, entry, fresh, arguments, ())
            self._classify(call, entry, view)
        except Exception as caught:
            error = _refusal(caught, call)
            reason = f"{error.reason} (after a rewrite by hook {', '.join(one.rewrote_by)})"
            call.refuse(ToolError(error.code, reason, data=error.data))
            return
        await self._decide(call, view)

    def _input(self, call: Pending, view: TurnView) -> HookInput:
        return HookInput(
            event=HookEvent.PRE_TOOL_USE,
            session_id=self._setup.session_id,
            cwd=self._setup.cwd,
            tool_name=call.name,
            tool_input=own_copy(call.call.arguments),
            permission_mode=str(view.mode),
            call_id=call.call.id,
            agent_id=self._setup.agent_id,
        )

    async def _ask(self, call: Pending, view: TurnView, verdicts: Mapping[str, Verdict]) -> None:
        """Take step 8: at most one question for a call, with its final arguments."""
        if call.hook_asks is None and view.grants:
            await self._decide(call, view)  # a grant given for an earlier call of this phase
            if not call.asks:
                return
        verdict = await self._desk.ask(call, view, verdicts.get(call.call.id))
        call.verdict = str(verdict.kind)
        if verdict.kind == "deny":
            by = "the person who was asked denied it" if self._desk.attended else "no approver was present"
            text = f"{by}: {verdict.message}" if verdict.message and self._desk.attended else by
            call.refuse(ToolError.access_denied(text))

    async def _guard(self, call: Pending, guardrails: GuardrailChain) -> None:
        if call.refusal is not None:
            return
        arguments = own_copy(call.call.arguments)
        finding = await guardrails.review("in", call.name, arguments, call_id=call.call.id)
        if finding is not None:
            call.refuse(ToolError.access_denied(f"guardrail {finding.guardrail!r}: {finding.reason}"))


def _refusal(error: Exception, pending: Pending) -> ToolError:
    """Return what a call is refused with; a fault of what its tool says about it is logged and ends this call alone."""
    if isinstance(error, ToolError):
        return error
    logger.error("tool_check_crashed tool=%s call=%s", pending.name, pending.call.id, exc_info=error)
    kind = type(error).__name__
    return ToolError.execution_failed(f"what {pending.name!r} says about its call raised {kind}; it was not run")


def _taught(error: ToolError, view: TurnView, name: str) -> ToolError:
    """Return a refusal of arguments with the tool's full schema, where the model does not have that yet."""
    schema = view.learn(name) if error.code is ErrorCode.INVALID_ARGUMENTS and view.learn is not None else None
    if schema is None:
        return error
    data = error.data if isinstance(error.data, dict) else {}
    return ToolError(error.code, error.reason, data={**data, "schema": schema})


def _covered(of_target: Decision, own: Decision, entry: Entry) -> bool:
    """Tell whether an allow that somebody stated for a built-in tool beats the built-in default of its target.

    It does where the tool has the same default as its targets, as its `covers_defaults` says: else an allow of the
    tool would never be enough.
    """
    if entry.source != "builtin" or not getattr(entry.tool, "covers_defaults", False):
        return False
    of_default = of_target.effect is Effect.ASK and _is_default(of_target)
    return of_default and own.effect is Effect.ALLOW and own.rule is not None and not _is_default(own)


def _is_default(decision: Decision) -> bool:
    return decision.rule is not None and decision.rule.scope is Scope.BUILTIN_DEFAULT


def _reads(entry: Entry, call: ToolCall) -> bool:
    if not entry.read_only:
        return False
    per_call: Callable[[ToolCall], bool] | None = getattr(entry.tool, "read_only_for", None)
    return True if per_call is None else bool(per_call(call))


def _targets(entry: Entry, call: ToolCall) -> Sequence[ToolCall]:
    targets: Callable[[ToolCall], Sequence[ToolCall]] | None = getattr(entry.tool, "targets", None)
    return () if targets is None else targets(call)
