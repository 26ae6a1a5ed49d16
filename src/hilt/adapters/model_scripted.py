"""A model that answers from a script, offline and the same each time: `scripted:FILE`."""

import os
import stat
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Self

import anyio
import anyio.lowlevel

from hilt.core.errors import ConfigError, ModelError
from hilt.core.script import ScriptedAnswer, ScriptedError, parse_script
from hilt.core.session import Message, ToolMessage
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

PREFIX = "scripted:"
SCRIPT_MAX_BYTES = 64 * 1024 * 1024
_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})


class ScriptModel:
    """Gives the answers of a script, one a request, in order; see `hilt.ports.model.Model`.

    A line whose `when` does not hold stays the next one; a line that ends in an error is used up, so that a
    second try gets the line after it.
    """

    def __init__(
        self, answers: Sequence[ScriptedAnswer], *, source: str, capabilities: Capabilities | None = None
    ) -> None:
        self._answers = tuple(answers)
        self._source = source
        self._capabilities = capabilities or Capabilities()
        self._used = 0

    @classmethod
    def load(cls, file: Path, *, source: str | None = None, capabilities: Capabilities | None = None) -> Self:
        """Read and check the whole script; `source` is the file as its user wrote it, for names and errors.

        Raises:
            ConfigError: The file cannot be read, or a line is wrong; names file, line and key.
        """
        shown = source or file.name
        try:
            text = _content(file, shown).decode("utf-8")
        except UnicodeDecodeError:
            raise ConfigError("the script is not UTF-8 text", source=shown) from None
        except OSError as exc:
            raise ConfigError(f"the script cannot be read: {exc.strerror}", source=shown) from None
        return cls(parse_script(text, source=shown), source=shown, capabilities=capabilities)

    @property
    def name(self) -> str:
        """`scripted:` and the file."""
        return f"{PREFIX}{self._source}"

    @property
    def capabilities(self) -> Capabilities:
        """What may be sent; a script reads nothing of it but the last message, for `when`."""
        return self._capabilities

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Stream the script's next answer.

        Raises:
            ModelError: The script ends before this request, its `when` does not hold, or it says so itself.
        """
        if self._used >= len(self._answers):
            raise none_left(f"the script {self._source}", self._used)
        answer = self._answers[self._used]
        check_when(answer, request, where=f"answer {self._used + 1} of the script {self._source}")
        self._used += 1
        async for item in play(answer, request.turn):
            yield item


def _content(file: Path, shown: str) -> bytes:
    """Return what a regular file of limited size holds; nothing else is waited for."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError("the script is no regular file", source=shown)
        if status.st_size > SCRIPT_MAX_BYTES:
            raise ConfigError(f"the script has {status.st_size} bytes, at most {SCRIPT_MAX_BYTES}", source=shown)
        return opened.read(SCRIPT_MAX_BYTES)


def none_left(where: str, used: int) -> ModelError:
    """Return the error of a request past the last answer."""
    return ModelError(f"{where} has {used} answers and none for request {used + 1}")


def check_when(answer: ScriptedAnswer, request: ModelRequest, *, where: str) -> None:
    """Pass if the request's last message holds the answer's `when`.

    Raises:
        ModelError: It does not; the text names `where` and what was waited for.
    """
    last = _text_of(request.messages[-1]) if request.messages else ""
    if answer.when not in last:
        raise ModelError(f"{where} waits for {answer.when!r}, which the last message does not hold")


def _text_of(message: Message) -> str:
    if isinstance(message, ToolMessage):
        return "\n".join(result.content for result in message.results)
    return message.text


async def play(answer: ScriptedAnswer, turn: int) -> AsyncGenerator[ModelItem, None]:
    """Stream an answer: reasoning, text, calls, then the end that the script says.

    A call without an id gets `call_<turn>_<n>`, n counted from 1 within the answer.

    Raises:
        ModelError: The answer has an error, or its stream ends inside the last call (transient).
    """
    if answer.delay_ms:
        await anyio.sleep(answer.delay_ms / 1000)
    for piece in _pieces(answer.reasoning, answer.chunk):
        yield ReasoningText(text=piece)
    for piece in _pieces(answer.text, answer.chunk):
        yield TextDelta(text=piece)
        if answer.chunk is not None:
            # As with a model far away, others go on between two pieces.
            await anyio.lowlevel.checkpoint()
    finished = answer.calls[:-1] if answer.breaks else answer.calls
    for number, call in enumerate(finished, start=1):
        yield CallRequested(call=ToolCall(call.id or f"call_{turn}_{number}", call.name, call.args))
    if answer.breaks:
        raise ModelError(f"the stream ended inside a call of {answer.calls[-1].name!r}", transient=True)
    if answer.error is not None:
        raise _raised(answer.error)
    yield Answered(usage=answer.usage)


def _pieces(text: str, chunk: int | None) -> Iterator[str]:
    size = chunk or max(len(text), 1)
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _raised(error: ScriptedError) -> ModelError:
    return ModelError(
        error.message or f"the script answers with status {error.status}",
        transient=error.status in _TRANSIENT_STATUS or error.status >= 500,
        status=error.status,
        retry_after_s=error.retry_after_s,
    )
