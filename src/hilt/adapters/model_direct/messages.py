"""A conversation as pydantic-ai's messages: calls paired with results, names as the provider takes them."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from hilt.adapters.model_direct.seal import unpack
from hilt.adapters.model_direct.wire import Wire
from hilt.core.content import AudioPart, ImagePart, Part
from hilt.core.dialect import WireNames
from hilt.core.errors import HarnessFault
from hilt.core.session import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from hilt.core.shaping import gate_media
from hilt.core.tool import ToolResult, ToolSpec
from hilt.ports.model import Capabilities

Asking = UserMessage | ToolMessage | SummaryMessage

# What the wire formats that take sound know to name.
SOUNDS = frozenset({"audio/wav", "audio/mpeg"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """How one request is translated: wire format, names of its tools, what the model takes."""

    wire: Wire
    names: WireNames
    capabilities: Capabilities
    provider: str

    def messages(self, system: str, messages: Sequence[Message]) -> list[ModelMessage]:
        """Return the conversation; what follows an answer, up to the next one, is one request.

        Raises:
            HarnessFault: A call lacks its result, or a result its call.
        """
        check_pairs(messages)
        out: list[ModelMessage] = []
        waiting = _Waiting()
        names: dict[str, str] = {}
        for message in messages:
            if isinstance(message, AssistantMessage):
                waiting.move_to(out)
                out.append(self._answer(message))
                names = {call.id: call.name for call in message.calls}
            else:
                self._ask(message, names, waiting)
        waiting.move_to(out)
        return _with_instructions(out, system)

    def parameters(self, tools: Sequence[ToolSpec]) -> ModelRequestParameters:
        """Return the tools, in their order, with their schemas as they are."""
        return ModelRequestParameters(
            function_tools=[
                ToolDefinition(
                    name=self.names.wire(spec.name),
                    description=spec.description,
                    parameters_json_schema=spec.schema,
                    strict=False,
                )
                for spec in tools
                if spec.name not in self.names.withheld
            ]
        )

    def _answer(self, message: AssistantMessage) -> ModelResponse:
        return ModelResponse(
            parts=[
                *unpack(message.reasoning, message.reasoning_signature, self.wire.name),
                *([TextPart(message.text)] if message.text else []),
                *(ToolCallPart(self.names.wire(call.name), call.args, tool_call_id=call.id) for call in message.calls),
            ],
            provider_name=self.provider,
        )

    def _ask(self, message: Asking, names: dict[str, str], waiting: "_Waiting") -> None:
        if isinstance(message, ToolMessage):
            for result in message.results:
                self._result(result, names[result.call_id], waiting)
            return
        parts = message.parts if isinstance(message, UserMessage) else ()
        text, media = self._shown(message.text, parts)
        waiting.prompt.extend([*_texts(text), *media])

    def _result(self, result: ToolResult, name: str, waiting: "_Waiting") -> None:
        text, media = self._shown(result.content, result.parts)
        content: str | list[UserContent] = text
        if media and self.wire.media_in_results:
            content = [*_texts(text), *media]
        elif media:
            waiting.prompt.extend([f"Shown with the result of {self.names.wire(name)}:", *media])
        elif not text and self.wire.marks_errors:
            content = []  # an empty text block is refused
        waiting.results.append(
            ToolReturnPart(
                tool_name=self.names.wire(name),
                content=content,
                tool_call_id=result.call_id,
                # Without a flag the library would wrap the text, which must reach the model unchanged.
                outcome="failed" if result.is_error and self.wire.marks_errors else "success",
            )
        )

    def _shown(self, text: str, parts: Sequence[Part]) -> tuple[str, list[BinaryContent]]:
        """Return what is sent beside the text, and the text with a line for each image or sound held back."""
        held: list[Part] = []
        media = []
        for part in parts:
            if isinstance(part, ImagePart | AudioPart):
                content = _binary(part) if self._takes(part) else None
                if content is None:
                    held.append(part)
                else:
                    media.append(content)
        told = gate_media(ToolResult("", text, False, tuple(held)), images=False, audio=False)
        return told.content, media

    def _takes(self, part: ImagePart | AudioPart) -> bool:
        if isinstance(part, ImagePart):
            return self.capabilities.images
        return self.capabilities.audio and part.mime_type in SOUNDS


@dataclass(slots=True)
class _Waiting:
    """What the next request holds: the results of the calls before it, then what is said."""

    results: list[ModelRequestPart] = field(default_factory=list)
    prompt: list[UserContent] = field(default_factory=list)

    def move_to(self, out: list[ModelMessage]) -> None:
        parts = list(self.results)
        if self.prompt:
            # A text alone goes as text: not everything that speaks like OpenAI takes a list.
            single = self.prompt[0] if len(self.prompt) == 1 else None
            parts.append(UserPromptPart(single if isinstance(single, str) else list(self.prompt)))
        if parts:
            out.append(ModelRequest(parts=parts))
        self.results.clear()
        self.prompt.clear()


def check_pairs(messages: Sequence[Message]) -> None:
    """Pass if every answer's calls have their results right after it, and every result has its call.

    Raises:
        HarnessFault: One of them stands alone; the text names its id.
    """
    open_calls: tuple[str, ...] = ()
    for message in [*messages, UserMessage(text="")]:
        results = tuple(r.call_id for r in message.results) if isinstance(message, ToolMessage) else ()
        if results != open_calls:
            alone = next(iter([*set(open_calls) ^ set(results)]), (open_calls or results)[0])
            raise HarnessFault(f"the call {alone!r} of the conversation is not paired with one result")
        open_calls = tuple(c.id for c in message.calls) if isinstance(message, AssistantMessage) else ()


def _with_instructions(out: list[ModelMessage], system: str) -> list[ModelMessage]:
    """Put the instructions where the library looks for them: at the last request."""
    if not out or not isinstance(out[-1], ModelRequest):
        out.append(ModelRequest(parts=[]))
    last = out[-1]
    if system and isinstance(last, ModelRequest):
        out[-1] = replace(last, instructions=system)
    return out


def _texts(text: str) -> list[str]:
    return [text] if text else []


def _binary(part: ImagePart | AudioPart) -> BinaryContent | None:
    try:
        return BinaryContent(data=base64.b64decode(part.data, validate=True), media_type=part.mime_type)
    except binascii.Error:
        return None
