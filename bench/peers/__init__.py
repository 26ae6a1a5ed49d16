"""One module for each contestant of `bench.turns`, each with `turner(function)`.

`turner` is an async context manager over `run(calls)`: a whole turn in which the model makes these calls. These
modules are loaded where only their own library is installed, so they import nothing of hilt.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What the fake model asks for; `text` is `arguments` as JSON, made before the clock starts."""

    id: str
    name: str
    arguments: dict[str, object]
    text: str


Function = Callable[..., str | Awaitable[str]]
Run = Callable[[Sequence[Call]], Awaitable[str]]
