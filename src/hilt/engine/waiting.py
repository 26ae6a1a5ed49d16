"""Asks that wait for `Session.approve`: how the one of a run is stored, and those of child agents, which are not."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio

from hilt.core.session import PendingAsk
from hilt.ports.permission import Ask, Verdict


@dataclass(slots=True)
class WaitingAsk:
    """An ask and its answer, once there is one."""

    ask: Ask
    answered: anyio.Event = field(default_factory=anyio.Event)
    verdict: Verdict | None = None

    def answer(self, ask_id: str, verdict: Verdict) -> bool:
        """Take the verdict if it is on this ask and the first one; tell whether it was."""
        if self.ask.ask_id != ask_id or self.verdict is not None:
            return False
        self.verdict = verdict
        self.answered.set()
        return True


class ChildAsks:
    """The approver of child agents whose session's caller answers asks; of these one is open at a time.

    Nothing of such an ask is stored but its event, which `flush` puts into the log: a child ends with its process.
    """

    def __init__(self, flush: Callable[[], Awaitable[None]]) -> None:
        self._flush = flush
        self._open: WaitingAsk | None = None

    @property
    def pending(self) -> PendingAsk | None:
        """The ask that waits, None without one."""
        return None if self._open is None or self._open.verdict is not None else pending_of(self._open.ask)

    def answer(self, ask_id: str, verdict: Verdict) -> bool:
        """Take a verdict and tell whether it was on the ask that waits."""
        return self._open is not None and self._open.answer(ask_id, verdict)

    async def opened(self, ask: Ask | None) -> None:
        """Take an ask before it is told, so that whoever hears of it can answer; None after its verdict."""
        self._open = None if ask is None else WaitingAsk(ask)

    async def decide(self, ask: Ask) -> Verdict:
        """See `Approver.decide`."""
        waiting = self._open or WaitingAsk(ask)
        try:
            await self._flush()
            await waiting.answered.wait()
        finally:
            self._open = None
        return waiting.verdict or Verdict(kind="deny")


def pending_of(ask: Ask) -> PendingAsk:
    """Return an ask in the form in which it is stored and shown."""
    return PendingAsk(
        ask_id=ask.ask_id,
        call_id=ask.call_id,
        tool=ask.tool,
        reason=ask.reason,
        arguments=_shown(ask.arguments),
        rule=ask.rule,
        rememberable=ask.rememberable,
    )


def _shown(arguments: str) -> Mapping[str, object]:
    """Return an ask's arguments as an object; a text that was cut is kept as it is."""
    try:
        value: object = json.loads(arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"cut": arguments}
