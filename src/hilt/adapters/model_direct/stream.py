"""One request to a provider, streamed: text as it comes, the calls when the answer is whole."""

import json
import logging
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, replace
from functools import partial

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model as ProviderModel
from pydantic_ai.models import StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from hilt.adapters.model_direct.errors import to_model_error
from hilt.adapters.model_direct.messages import Translation
from hilt.adapters.model_direct.seal import SEPARATOR, pack
from hilt.adapters.model_direct.wire import Wire
from hilt.core.dialect import WireNames, wire_names
from hilt.core.errors import HiltError, ModelError
from hilt.core.session import Usage
from hilt.core.tool import ToolCall
from hilt.ports.model import (
    Answered,
    CallRequested,
    Capabilities,
    ModelItem,
    ModelRequest,
    ReasoningText,
    TextDelta,
)

_logger = logging.getLogger(__name__)

# The library makes up an id where the provider gave none; the engine gives its own.
_MADE_UP_ID = "pyd_ai_"


class DirectModel:
    """A provider's model, see `hilt.ports.model.Model`; it tries once, further tries are the engine's."""

    def __init__(
        self,
        model: ProviderModel,
        *,
        name: str,
        wire: Wire,
        capabilities: Capabilities | None,
        client: httpx2.AsyncClient,
        secret: str,
    ) -> None:
        self._model = model
        self._name = name
        self._wire = wire
        self._capabilities = _capabilities(model.profile, wire, capabilities)
        self._client = client
        self._to_error = partial(to_model_error, model=name, secret=secret)

    @property
    def name(self) -> str:
        """The name that settings use."""
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        """What may be sent."""
        return self._capabilities

    async def aclose(self) -> None:
        """Close the connections that are kept for further requests."""
        await self._client.aclose()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Stream one answer; its calls come together at the end, once nothing can break any more.

        Raises:
            ModelError: The provider refused or failed, or the stream ended inside the answer (transient).
            HarnessFault: The conversation has a call without a result, or a result without a call.
        """
        names = wire_names((spec.name for spec in request.tools), self._wire.profile)
        try:
            async for item in self._items(request, names):
                yield item
        except HiltError:
            raise
        # The provider's library has an error tree of its own for each provider, and malformed answers raise
        # whatever they break: nothing of it may cross the port.
        except Exception as exc:
            error = self._to_error(exc)
            if not isinstance(exc, AgentRunError | UserError | httpx2.HTTPError):
                _logger.exception("model_request_failed")
            raise error from exc

    async def _items(self, request: ModelRequest, names: WireNames) -> AsyncGenerator[ModelItem, None]:
        translation = Translation(
            wire=self._wire, names=names, capabilities=self._capabilities, provider=self._model.system
        )
        pieces = _Pieces()
        async with model_request_stream(
            self._model,
            translation.messages(request.system, request.messages),
            model_settings=self._settings(request),
            model_request_parameters=translation.parameters(request.tools),
            instrument=False,
        ) as streamed:
            async for event in streamed:
                for item in pieces.items(event):
                    yield item
            answer = streamed.get()
            self._check_whole(streamed, answer)
        for item in _rest(answer, names, self._wire.name):
            yield item

    def _settings(self, request: ModelRequest) -> ModelSettings:
        settings = self._wire.settings.copy()
        settings["max_retries"] = 0
        if request.max_output_tokens is not None:
            settings["max_tokens"] = request.max_output_tokens
        return settings

    def _check_whole(self, streamed: StreamedResponse, answer: ModelResponse) -> None:
        """Raise unless the provider said that the answer ends here, and no call is cut."""
        details = answer.provider_details or {}
        if "finish_reason" not in details and streamed.finish_reason != "content_filter":
            raise ModelError(f"{self._name}: the stream ended inside the answer", transient=True)
        if streamed.finish_reason == "error":
            raise ModelError(f"{self._name}: the provider gave up on the answer", transient=True)
        last = answer.parts[-1] if answer.parts else None
        if streamed.finish_reason == "length" and isinstance(last, ToolCallPart) and not _is_whole(last):
            cut = f"a call of {last.tool_name!r}"
            raise ModelError(f"{self._name}: the answer reached its limit of output tokens inside {cut}")


def _capabilities(profile: ModelProfile, wire: Wire, given: Capabilities | None) -> Capabilities:
    """Return what both the caller and the library's catalogue of models admit."""
    images = profile.get("supports_image_input", True)
    audio = profile.get("supports_audio_file_input", False)
    if given is not None:
        return replace(given, images=given.images and images, audio=given.audio and audio)
    window = profile.get("context_window") or Capabilities().window_tokens
    return Capabilities(images=images, audio=audio, window_tokens=window, profile=wire.profile)


@dataclass(slots=True)
class _Pieces:
    """Turns events into pieces of text; reasoning in several parts is divided by an empty line."""

    reasoned: bool = False
    divide: bool = False

    def items(self, event: ModelResponseStreamEvent) -> Iterator[ModelItem]:
        match event:
            case PartStartEvent(part=TextPart(content=text)) if text:
                yield TextDelta(text=text)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                yield TextDelta(text=text)
            case PartStartEvent(part=ThinkingPart(content=text)):
                self.divide = self.reasoned
                yield from self._reasoning(text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)):
                yield from self._reasoning(text or "")
            case _:
                pass

    def _reasoning(self, text: str) -> Iterator[ModelItem]:
        if text:
            yield ReasoningText(text=f"{SEPARATOR}{text}" if self.divide else text)
            self.reasoned = True
            self.divide = False


def _rest(answer: ModelResponse, names: WireNames, wire: str) -> Iterator[ModelItem]:
    """Yield what is known at the end: a refusal's text, the reasoning's seal, the calls, the usage."""
    refusal = (answer.provider_details or {}).get("refusal")
    if isinstance(refusal, str):
        yield TextDelta(text=refusal)
    seal = pack([part for part in answer.parts if isinstance(part, ThinkingPart)], wire)
    if seal:
        yield ReasoningText(text="", signature=seal)
    for part in answer.parts:
        if isinstance(part, ToolCallPart):
            yield CallRequested(call=_call(part, names))
    yield Answered(usage=_usage(answer.usage))


def _call(part: ToolCallPart, names: WireNames) -> ToolCall:
    identity = "" if part.tool_call_id.startswith(_MADE_UP_ID) else part.tool_call_id
    return ToolCall(identity, names.canonical(part.tool_name), _argument_text(part))


def _argument_text(part: ToolCallPart) -> str:
    if isinstance(part.args, dict):
        return json.dumps(part.args, ensure_ascii=False)
    return part.args or ""


def _is_whole(part: ToolCallPart) -> bool:
    try:
        json.loads(_argument_text(part))
    except ValueError:
        return False
    return True


def _usage(usage: RequestUsage) -> Usage:
    """Return the tokens; `input` counts those read from and written to a cache too."""
    return Usage(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cache_read=usage.cache_read_tokens,
        cache_write=usage.cache_write_tokens,
    )
