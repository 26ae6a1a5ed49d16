"""After a call: post-hooks, inbound guardrail, text repair and shaping, audit record, event."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import anyio.to_thread

from hilt.core.content import EmbeddedResourcePart, Part, TextPart, base64_size
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.event import ToolSettled
from hilt.core.frozen import frozen
from hilt.core.hook import HookEvent, HookInput
from hilt.core.origin import Origin, is_heavy
from hilt.core.session import Mode
from hilt.core.shaping import PLAIN, Keep, shape
from hilt.core.tool import ToolResult
from hilt.engine.emitter import Emitter
from hilt.engine.guardrail import GuardrailChain
from hilt.engine.hook import HookChain, HookPass
from hilt.engine.pending import Pending, own_copy
from hilt.ports.execution import Execution, Job, Outcome, Overdue, Raised
from hilt.ports.store import ToolCallRecorder

logger = logging.getLogger(__name__)

RECORD_TIMEOUT_S = 5.0
TEXT_CAP_BYTES = 25_000


def keep_nothing(text: str, *, structured: str | None = None) -> str:
    """Retain no text."""
    return ""


@frozen
class SettleSetup:
    """What settling needs beside the funnel's own parts.

    `keep` retains a text and returns its handle; `filters` says whether the session can run jq filters.
    """

    session_id: str
    cwd: str = ""
    agent_id: str = ""
    cap_bytes: int = TEXT_CAP_BYTES
    keep: Keep = keep_nothing
    filters: bool = False


class Settler:
    """Settles the calls of a phase together, in the model's order."""

    def __init__(
        self,
        setup: SettleSetup,
        *,
        hooks: HookChain,
        guardrails: GuardrailChain | None,
        execution: Execution,
        recorder: ToolCallRecorder | None,
        emitter: Emitter,
    ) -> None:
        self._setup = setup
        self._hooks = hooks
        self._guardrails = guardrails
        self._execution = execution
        self._recorder = recorder
        self._emitter = emitter
        self._told_recorder = False

    async def settle(self, calls: Sequence[Pending], *, mode: Mode, now: float) -> None:
        """Give every call its final result, its record and its event."""
        await self._post_hooks([call for call in calls if call.started is not None], mode)
        if self._guardrails is not None:
            for call in calls:
                if call.started is not None:
                    await self._review(call, self._guardrails)
        await self.close(calls, mode=mode, now=now)

    async def close(self, calls: Sequence[Pending], *, mode: Mode, now: float) -> None:
        """Shape, record and emit, without hooks: all that is left for a refused or a cancelled call."""
        open_ = [call for call in calls if not call.settled]
        for call in open_:
            await self._finish(call)
        await self._record(open_, mode, now)
        for call in open_:
            call.settled = True
            self._emitter.tell(partial(_settled, call))

    async def _post_hooks(self, calls: Sequence[Pending], mode: Mode) -> None:
        passes: list[tuple[Pending, HookPass]] = []
        for call in calls:
            names = (call.name, *(target.call.name for target in call.targets))
            hooks = self._hooks.matching(HookEvent.POST_TOOL_USE, *names)
            if hooks and call.result is not None:
                passes.append((call, HookPass(hooks=hooks, seen=self._input(call, call.result, mode))))
        if not passes:
            return
        await self._hooks.run([one for _, one in passes])
        for call, one in passes:
            call.hooks.extend(one.ran)
            call.contexts.extend(one.contexts)
            if one.stopped:
                text = f"hook {one.blocked_by!r} withheld the result: {one.blocked}. The call ran; its effects stand"
                call.fail(ToolError.access_denied(text))
                call.contexts = []
            elif one.seen.tool_response is not None:
                call.rewritten = call.result is not None and one.seen.tool_response.content != call.result.content
                call.result = one.seen.tool_response

    async def _review(self, call: Pending, guardrails: GuardrailChain) -> None:
        if call.result is None:
            return
        finding = await guardrails.review("out", call.name, call.result, call_id=call.call.id)
        if finding is not None:
            text = f"guardrail {finding.guardrail!r} withheld the result: {finding.reason}. The call ran"
            call.fail(ToolError.access_denied(text))
            call.contexts = []

    def _input(self, call: Pending, result: ToolResult, mode: Mode) -> HookInput:
        return HookInput(
            event=HookEvent.POST_TOOL_USE,
            session_id=self._setup.session_id,
            cwd=self._setup.cwd,
            tool_name=call.name,
            tool_input=own_copy(call.call.arguments),
            tool_response=result,
            permission_mode=str(mode),
            call_id=call.call.id,
            agent_id=self._setup.agent_id,
        )

    async def _finish(self, call: Pending) -> None:
        if call.refusal is not None:
            call.fail(call.refusal)
        if call.result is None:
            call.unfinished(ran=call.started is not None)
        result = call.result
        if result is None:
            return
        if call.contexts and not call.code:
            result = ToolResult(
                result.call_id,
                "\n\n".join((result.content, *call.contexts)),
                result.is_error,
                result.parts,
            )
        origin = PLAIN
        if result.parts or len(result.content) * 4 > self._setup.cap_bytes:
            origin = _origin(call, filters=self._setup.filters)
        work = partial(shape, result, cap_bytes=self._setup.cap_bytes, keep=self._setup.keep, origin=origin)
        shaped = await anyio.to_thread.run_sync(work) if is_heavy(result) else work()
        call.notes.extend(shaped.notes)
        call.result = shaped.result
        if shaped.code:
            call.code = shaped.code

    async def _record(self, calls: Sequence[Pending], mode: Mode, now: float) -> None:
        if self._recorder is None or not calls:
            return
        left = [call for call in calls if not call.recorded]
        recorder = self._recorder

        async def work() -> object:
            while left:
                call = left.pop(0)
                # Whoever is cancelled from here on does not record it a second time.
                call.recorded = True
                await self._record_one(recorder, call, mode, now)
            return None

        def end(outcome: Outcome) -> None:
            if isinstance(outcome, Overdue | Raised):
                self._tell_recorder("it passed its deadline" if isinstance(outcome, Overdue) else "it failed")

        while left:
            await self._execution.run_all(
                [Job(work, end=end, timeout_s=RECORD_TIMEOUT_S, name="audit record")], limit=1
            )

    async def _record_one(self, recorder: ToolCallRecorder, call: Pending, mode: Mode, now: float) -> None:
        if call.result is None:
            return
        queued = (call.started if call.started is not None else now) - call.entered
        try:
            await recorder.tool_call(
                self._setup.session_id,
                call.call,
                call.result,
                max(queued, 0.0),
                call.took,
                detail=self._detail(call, mode),
            )
        except Exception as exc:
            self._tell_recorder(f"it raised {type(exc).__name__}", exc)

    def _detail(self, call: Pending, mode: Mode) -> Mapping[str, object]:
        """Return the call's detail; a child agent's has its id too."""
        detail = _detail(call, mode)
        return {**detail, "agent_id": self._setup.agent_id} if self._setup.agent_id else detail

    def _tell_recorder(self, why: str, exc: Exception | None = None) -> None:
        if not self._told_recorder:
            self._told_recorder = True
            logger.error("tool_call_recorder_failed session=%s why=%s", self._setup.session_id, why, exc_info=exc)


def _origin(call: Pending, *, filters: bool) -> Origin:
    server = getattr(call.tool, "server", None)
    return Origin(
        tool=call.name,
        remote=isinstance(server, str),
        server=server if isinstance(server, str) else "",
        server_tool=str(getattr(call.tool, "name_on_server", "")),
        typed=getattr(call.tool, "output_schema", None) is not None,
        read_only=call.read_only,
        filters=filters,
        rewritten=call.rewritten,
        schema=None if call.tool is None else call.tool.spec.schema,
        arguments=call.call.arguments if call.started is not None else None,
    )


def _settled(call: Pending) -> ToolSettled:
    result = call.result or ToolResult(call.call.id, "")
    return ToolSettled(call_id=call.call.id, tool=call.name, result=result, code=call.code)


def _detail(call: Pending, mode: Mode) -> Mapping[str, object]:
    detail: dict[str, object] = {"mode": str(mode)}
    if call.decision is not None:
        detail["decision"] = call.verdict or str(call.decision.effect)
        if call.decision.rule is not None:
            detail["rule"] = rule_text(call)
    if call.hooks:
        detail["hooks"] = list(call.hooks)
    if call.notes:
        detail["coercions"] = list(call.notes)
    if call.targets:
        detail["targets"] = [target.call.name for target in call.targets]
    if call.code:
        detail["code"] = call.code
    if call.extra:
        detail.update(call.extra)
    if call.result is not None and call.result.parts:
        detail["parts"] = [{"kind": part.kind, "bytes": part_size(part)} for part in call.result.parts]
    return detail


def rule_text(call: Pending) -> str:
    """Return the deciding rule as the audit names it: effect, rule and scope; "" without a rule."""
    rule = None if call.decision is None else call.decision.rule
    if rule is None:
        return ""
    body = "" if rule.body is None else f"({rule.body})"
    return f"{rule.effect} {rule.tool}{body} [{rule.scope}]"


def part_size(part: Part) -> int:
    """Return the size of a part in bytes, media as decoded."""
    match part:
        case TextPart(text=text):
            return len(text.encode("utf-8", "replace"))
        case EmbeddedResourcePart(text=text, blob=blob):
            return len((text or "").encode("utf-8", "replace")) + base64_size(blob or "")
        case _:
            data = getattr(part, "data", None)
            return base64_size(data) if isinstance(data, str) else 0


def failure(error: BaseException, redact: Callable[[str], str]) -> ToolError:
    """Return what the model reads of an exception: its text, masked, at most 2,000 bytes, no traceback."""
    if isinstance(error, ToolError) and error.code is not ErrorCode.RESULT_TOO_LARGE:
        return error
    text = redact(str(error)) or type(error).__name__
    cut = text.encode("utf-8", "replace")[:2000].decode("utf-8", "ignore")
    return ToolError.execution_failed(cut)
