"""Runs the reviewers of one direction over one call's data and says what blocks it."""

import logging
from collections.abc import Callable, Sequence

import anyio

from hilt.core.event import HookRan
from hilt.core.frozen import frozen
from hilt.core.guardrail import REVIEW_TIMEOUT_S, Direction, Finding, GuardrailRule, Payload
from hilt.core.pattern import compile_name
from hilt.engine.emitter import Emitter
from hilt.ports.guardrail import Reviewer

logger = logging.getLogger(__name__)


@frozen
class Guardrail:
    """A rule with the reviewer that it names."""

    rule: GuardrailRule
    reviewer: Reviewer

    @property
    def name(self) -> str:
        """The name told in events and refusals."""
        return self.rule.reviewer

    def covers(self, direction: Direction, tool: str) -> bool:
        """Tell whether the rule is for this data."""
        patterns = self.rule.match
        return self.rule.direction == direction and (
            not patterns or any(compile_name(pattern).match(tool) for pattern in patterns)
        )


class GuardrailChain:
    """All guardrails of a session, in the order in which they review."""

    def __init__(
        self,
        guardrails: Sequence[Guardrail],
        *,
        emitter: Emitter,
        monotonic: Callable[[], float] | None = None,
        timeout_s: float = REVIEW_TIMEOUT_S,
    ) -> None:
        self._guardrails = tuple(guardrails)
        self._emitter = emitter
        self._monotonic = monotonic if monotonic is not None else anyio.current_time
        self._timeout_s = timeout_s

    async def review(self, direction: Direction, tool: str, payload: Payload, *, call_id: str = "") -> Finding | None:
        """Return the first finding that blocks, None when nothing does; a review emits one `hook` event."""
        for guardrail in self._guardrails:
            if guardrail.covers(direction, tool):
                started = self._monotonic()
                outcome, finding = await self._ask(guardrail, direction, tool, payload)
                self._emitter.emit(
                    HookRan(
                        hook=guardrail.name,
                        event=f"guardrail.{direction}",
                        outcome=outcome,
                        duration_ms=(self._monotonic() - started) * 1000,
                        call_id=call_id,
                        message="" if finding is None else finding.reason,
                    )
                )
                if finding is not None and outcome == "block":
                    return finding
        return None

    async def _ask(
        self, guardrail: Guardrail, direction: Direction, tool: str, payload: Payload
    ) -> tuple[str, Finding | None]:
        """Return the outcome of one review, `block`, `finding`, `failed` or `allow`, and what was found."""
        rule = guardrail.rule
        try:
            with anyio.fail_after(self._timeout_s):
                reason = await guardrail.reviewer.review(direction, tool, payload)
        except TimeoutError:
            why = f"the reviewer passed its deadline of {self._timeout_s:g} s"
        except Exception as exc:
            logger.exception("guardrail_crashed reviewer=%s", guardrail.name)
            why = f"the reviewer raised {type(exc).__name__}"
        else:
            if not reason:
                return "allow", None
            found = Finding(guardrail=guardrail.name, reason=reason)
            return ("block" if rule.mode == "block" else "finding"), found
        failure = Finding(guardrail=guardrail.name, reason=why)
        return ("block" if rule.mode == "block" and rule.on_failure == "block" else "failed"), failure
