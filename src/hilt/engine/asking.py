"""The desk where calls are put to a person: one question at a time, first answer counts, grants remembered."""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from hilt.core.errors import HiltError
from hilt.core.event import AskClosed, AskOpened
from hilt.core.permission import Effect, PermissionRule, Subjects
from hilt.core.rule_text import format_rule, grant_rule
from hilt.engine.emitter import Emitter
from hilt.engine.pending import Pending
from hilt.ports.permission import Approver, Ask, Verdict

logger = logging.getLogger(__name__)

ARGUMENTS_MAX_BYTES = 4096
NOBODY = Verdict(kind="deny", message="no approver was present")

Checkpoint = Callable[[Ask | None], Awaitable[None]]


class HasGrants(Protocol):
    """What an `allow_always` is added to."""

    @property
    def grants(self) -> list[PermissionRule]:
        """The conversation's own list."""
        ...


class AskDesk:
    """Puts asks to the approver of a run.

    `opened` is awaited with the ask before it is put and with None after its verdict, so that it can be stored;
    `persist` writes a remembered rule to the project's settings. Desks that share `one_at_a_time` have one
    question open among them.
    """

    def __init__(  # noqa: PLR0913 - keyword-only parts of one desk
        self,
        approver: Approver | None,
        *,
        emitter: Emitter,
        session_id: str = "",
        child: str = "",
        redact: Callable[[str], str] = str,
        new_id: Callable[[], str] | None = None,
        opened: Checkpoint | None = None,
        persist: Callable[[PermissionRule], Awaitable[None]] | None = None,
        one_at_a_time: anyio.Lock | None = None,
    ) -> None:
        self._approver = approver
        self._emitter = emitter
        self._session_id = session_id
        self._child = child
        self._redact = redact
        self._new_id = new_id
        self._opened = opened
        self._persist = persist
        self._count = 0
        self._lock = one_at_a_time or anyio.Lock()

    @property
    def attended(self) -> bool:
        """Whether somebody can be asked."""
        return self._approver is not None

    async def ask(self, call: Pending, view: HasGrants, given: Verdict | None) -> Verdict:
        """Return the verdict on a call; `given` is one that was taken before a restart."""
        if given is not None:
            return await self._take(call, view, given)
        if self._approver is None:
            return NOBODY
        async with self._lock:
            ask = self._question(call)
            if self._opened is not None:
                await self._opened(ask)
            self._emitter.emit(_opened(ask))
            try:
                verdict = await self._approver.decide(ask)
            except Exception:
                logger.exception("approver_failed session=%s ask=%s", self._session_id, ask.ask_id)
                verdict = Verdict(kind="deny", message="the approver failed; the log has the details")
            except BaseException:
                self._emitter.emit(AskClosed(ask_id=ask.ask_id, call_id=ask.call_id, verdict="retracted"))
                raise
            verdict = await self._take(call, view, verdict)
            remembered = verdict.kind == "allow_always"
            self._emitter.emit(self._closed(ask.ask_id, call, verdict, remembered))
            if self._opened is not None:
                await self._opened(None)
            return verdict

    def _question(self, call: Pending) -> Ask:
        self._count += 1
        decision = call.decision
        rule = "" if decision is None or decision.rule is None else format_rule(decision.rule)
        reason = decision.reason if decision is not None else "no rule allows it"
        if call.hook_asks is not None and (decision is None or decision.effect is not Effect.ASK):
            by, why = call.hook_asks
            reason, rule = f"hook {by!r}: {why}", ""
        text = self._redact(json.dumps(dict(call.call.arguments), ensure_ascii=False))
        return Ask(
            ask_id=f"ask_{self._new_id()}" if self._new_id is not None else f"ask_{self._count}",
            session_id=self._session_id,
            call_id=call.call.id,
            tool=call.name,
            reason=reason,
            rule=rule,
            arguments=cut_arguments(text),
            child=self._child,
            rememberable=self._rememberable(call),
        )

    def _rememberable(self, call: Pending) -> bool:
        decision = call.decision
        known = _remembered(call)[1] is not None
        return known and (decision is None or decision.rememberable) and call.hook_asks is None

    async def _take(self, call: Pending, view: HasGrants, verdict: Verdict) -> Verdict:
        """Remember an `allow_always`, or turn it into `allow_once` where it cannot be remembered."""
        if verdict.kind != "allow_always":
            return verdict
        name, subjects = _remembered(call)
        if subjects is None or not self._rememberable(call):
            return Verdict(kind="allow_once", message="allowed once: this call cannot be remembered")
        rule = grant_rule(name, subjects)
        view.grants.append(rule)
        if verdict.persist and self._persist is not None:
            try:
                await self._persist(rule)
            except HiltError as error:
                logger.warning("grant_not_written rule=%s why=%s", format_rule(rule), error)
        return verdict

    def _closed(self, ask_id: str, call: Pending, verdict: Verdict, remembered: bool) -> AskClosed:
        return AskClosed(
            ask_id=ask_id,
            call_id=call.call.id,
            verdict=str(verdict.kind),
            message=verdict.message,
            remembered=remembered,
        )


def _remembered(call: Pending) -> tuple[str, Subjects | None]:
    """Return what a grant is stored for: the tool that the call acts for if that alone asks, else its own."""
    if len(call.targets) == 1 and not call.own_asks:
        return call.targets[0].call.name, call.targets[0].subjects
    return call.name, call.subjects


def cut_arguments(text: str) -> str:
    """Return the arguments of an ask, cut to 4,096 bytes."""
    return text.encode("utf-8", "replace")[:ARGUMENTS_MAX_BYTES].decode("utf-8", "ignore")


def _opened(ask: Ask) -> AskOpened:
    return AskOpened(
        ask_id=ask.ask_id,
        call_id=ask.call_id,
        tool=ask.tool,
        reason=ask.reason,
        rule=ask.rule,
        arguments=ask.arguments,
        child=ask.child,
    )
