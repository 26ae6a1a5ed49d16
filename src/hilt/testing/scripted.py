"""A model whose answers a test writes down, and that keeps what it was asked."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from hilt.adapters.model_scripted import check_when, none_left, play
from hilt.core.script import parse_answer
from hilt.ports.model import Capabilities, ModelItem, ModelRequest

Answer = Mapping[str, object] | Callable[[ModelRequest], Mapping[str, object]]


class ScriptedModel:
    """Answers from a list of objects in the form of a script's lines, or of functions from request to object.

    `requests` are the requests seen, in order, those that were refused included.
    """

    def __init__(
        self,
        answers: Sequence[Answer] = (),
        *,
        name: str = "scripted:test",
        capabilities: Capabilities | None = None,
    ) -> None:
        """Keep the answers; those that are given as objects are checked now.

        Raises:
            ConfigError: An answer is not of the shape; names its number and the key.
        """
        for number, answer in enumerate(answers, start=1):
            if isinstance(answer, Mapping):
                parse_answer(answer, source=name, line=number)
        self._answers = list(answers)
        self._name = name
        self._capabilities = capabilities or Capabilities()
        self._used = 0
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        """What may be sent."""
        return self._capabilities

    def add(self, *answers: Answer) -> None:
        """Append further answers."""
        self._answers.extend(answers)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Stream the next answer.

        Raises:
            ModelError: No answer is left, its `when` does not hold, or it is an error itself.
            ConfigError: A function gave an answer that is not of the shape.
        """
        self.requests.append(request)
        number = self._used + 1
        if self._used >= len(self._answers):
            raise none_left(self._name, self._used)
        given = self._answers[self._used]
        answer = parse_answer(given if isinstance(given, Mapping) else given(request), source=self._name, line=number)
        check_when(answer, request, where=f"answer {number} of {self._name}")
        self._used += 1
        async for item in play(answer, request.turn):
            yield item
