"""One answer of the model: streamed to receivers, joined, and asked for again after a transient failure."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from hilt.core.errors import ModelError
from hilt.core.event import MessageDelta, Notice, ReasoningDelta
from hilt.core.session import AssistantMessage, Usage
from hilt.core.tool import ToolCall
from hilt.engine.emitter import Emitter
from hilt.ports.model import Answered, CallRequested, Model, ModelItem, ModelRequest, ReasoningText, TextDelta

logger = logging.getLogger(__name__)

RETRY_DELAYS_S = (0.5, 1.0, 2.0)
RETRY_AFTER_MAX_S = 60.0


@dataclass(slots=True)
class _Draft:
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    signature: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    complete: bool = False


async def ask_model(
    model: Model, request: ModelRequest, emitter: Emitter, *, delays_s: Sequence[float] = RETRY_DELAYS_S
) -> tuple[AssistantMessage, Usage]:
    """Return one complete answer and its usage.

    A transient failure is tried again once for each delay, which the provider's own word can lengthen to at most
    60 seconds; nothing of a failed answer is kept.

    Raises:
        ModelError: The request failed for good.
    """
    for attempt in range(len(delays_s) + 1):
        draft = _Draft()
        try:
            await _stream(model, request, emitter, draft)
        except ModelError as error:
            if not error.transient or attempt == len(delays_s):
                raise
            wait_s = min(max(delays_s[attempt], error.retry_after_s or 0.0), RETRY_AFTER_MAX_S)
            logger.warning("model_request_failed try=%d wait_s=%.1f why=%s", attempt + 1, wait_s, error)
            emitter.emit(Notice(topic="model_retry", text=f"The model failed ({error}); trying again in {wait_s:g} s."))
            await anyio.sleep(wait_s)
            continue
        message = AssistantMessage(
            text="".join(draft.text),
            reasoning="".join(draft.reasoning),
            calls=tuple(draft.calls),
            reasoning_signature=draft.signature,
        )
        return message, draft.usage
    raise ModelError("the model gave no answer")


@asynccontextmanager
async def closing(items: AsyncIterator[ModelItem]) -> AsyncIterator[AsyncIterator[ModelItem]]:
    """Close the stream however it is left, so that its connection is not held until it is collected."""
    try:
        yield items
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


async def _stream(model: Model, request: ModelRequest, emitter: Emitter, draft: _Draft) -> None:
    async with closing(model.stream(request)) as items:
        async for item in items:
            match item:
                case TextDelta(text=text):
                    draft.text.append(text)
                    emitter.emit(MessageDelta(text=text))
                case ReasoningText(text=text, signature=signature):
                    draft.reasoning.append(text)
                    draft.signature = signature or draft.signature
                    if text:
                        emitter.emit(ReasoningDelta(text=text))
                case CallRequested(call=call):
                    draft.calls.append(call)
                case Answered(usage=usage):
                    draft.usage = usage
                    draft.complete = True
    if not draft.complete:
        raise ModelError("the answer's stream ended before it was complete", transient=True)
