"""A model behind one method: a request in, a stream of text and finished calls out. No provider type crosses."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import field
from typing import Protocol

from hilt.core.frozen import frozen
from hilt.core.session import Message, Usage
from hilt.core.tool import ToolCall, ToolSpec


@frozen
class Capabilities:
    """What the model and its adapter take; `window_tokens` is the context window."""

    images: bool = False
    audio: bool = False
    window_tokens: int = 128_000
    profile: str = "generic"


@frozen
class ModelRequest:
    """One request: the conversation so far and the tools, in their order."""

    system: str = ""
    messages: Sequence[Message] = ()
    tools: Sequence[ToolSpec] = ()
    max_output_tokens: int | None = None
    turn: int = 1


@frozen
class TextDelta:
    """A piece of the answer's text."""

    text: str


@frozen
class ReasoningText:
    """A piece of the reasoning; `signature` is the provider's seal, to be sent back unchanged."""

    text: str
    signature: str = ""


@frozen
class CallRequested:
    """A finished call; its argument text is complete and unchanged. An absent id is ""."""

    call: ToolCall


@frozen
class Answered:
    """The answer is complete: always the last item of a stream."""

    usage: Usage = field(default_factory=Usage)


ModelItem = TextDelta | ReasoningText | CallRequested | Answered


class Model(Protocol):
    """Any model backend."""

    @property
    def name(self) -> str:
        """The name that settings use, `provider/name` or `scripted:FILE`."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What may be sent."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Stream one answer, ending with `Answered`.

        A stream that breaks off inside the answer raises; calls yielded before the break are void.

        Raises:
            ModelError: The provider failed; `transient` says whether another try can help.
        """
        ...
