"""One call through the whole funnel without a model: what a person or a program asks for by name."""

from typing import Final

import anyio

from hilt.core.event import RunResult, RunStart
from hilt.core.session import StopReason
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.conversation import Conversation
from hilt.engine.dispatch import Dispatcher
from hilt.engine.emitter import Emitter
from hilt.engine.gate import TurnView

CLOSE_S: Final = 10.0


class DirectCall:
    """The work of a run that makes one call; `results` has its result afterwards, nothing where it was cancelled."""

    def __init__(self, call: ToolCall, state: Conversation, dispatcher: Dispatcher, emitter: Emitter) -> None:
        self.results: list[ToolResult] = []
        self._call = call
        self._state = state
        self._dispatcher = dispatcher
        self._emitter = emitter

    async def run(self) -> RunResult:
        """Make the call, as a model's call would be made, and return how the run ended."""
        state = self._state
        self._emitter.emit(RunStart(prompt="", mode=str(state.mode)))
        state.begin_run()
        state.spend(calls=1)
        view = TurnView(mode=state.mode, visibility=state.visibility, grants=state.grants)
        turn = self._dispatcher.turn([self._call], view)
        reason = StopReason.CANCELLED
        try:
            self.results.extend(await turn.run())
            reason = StopReason.END_TURN
        except Exception:
            reason = StopReason.ERROR
            raise
        finally:
            with anyio.move_on_after(CLOSE_S, shield=True):
                await turn.close()
                result = RunResult(stop_reason=reason, tool_calls=1)
                self._emitter.emit(result)
                await self._emitter.barrier()
        return result
