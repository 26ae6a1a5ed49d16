"""Makes bad messages from good ones, the same ones for the same seed."""

import json
import random
from collections.abc import Callable
from typing import Final

from hilt.faults.protocol import Json, encode

_VALUES: Final[tuple[object, ...]] = (
    None,
    True,
    -1,
    0,
    1 << 70,
    1e308,
    "",
    "\u0000",
    "x" * 5000,
    [],
    {},
    [[[[]]]],
    {"": {"": ""}},
)


class Mutator:
    """Changes messages by chance; `seed` decides which way."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def mutated(self, message: Json) -> bytes:
        """Return the message changed in one to three ways, by its values or by its bytes."""
        changed: object = json.loads(encode(message))
        for _ in range(self._random.randint(0, 2)):
            changed = self._value(changed)
        text = encode(changed)
        return self._bytes(text) if self._random.random() < 0.5 else text

    def chance(self, share: float) -> bool:
        """Say yes in this share of cases."""
        return self._random.random() < share

    def _value(self, value: object) -> object:
        """Return the value with something inside it replaced, removed or doubled."""
        if not isinstance(value, dict) or not value:
            return self._random.choice(_VALUES)
        changed = dict(value)
        key = self._random.choice(sorted(changed))
        match self._random.randrange(5):
            case 0:
                del changed[key]
            case 1:
                changed[key] = self._random.choice(_VALUES)
            case 2:
                changed[key + "x"] = changed.pop(key)
            case 3:
                changed[key] = [changed[key]] * 2
            case _:
                changed[key] = self._value(changed[key])
        return changed

    def _bytes(self, text: bytes) -> bytes:
        """Return the text with some bytes removed, doubled, changed or added."""
        start = self._random.randrange(len(text) + 1)
        end = min(len(text), start + self._random.randrange(1, 9))
        noise = self._random.randbytes(end - start)
        ways: tuple[Callable[[], bytes], ...] = (
            lambda: text[:start] + text[end:],
            lambda: text[:end] + text[start:],
            lambda: text[:start] + noise + text[end:],
            lambda: text[:start] + noise + text[start:],
            lambda: text[:start],
        )
        return self._random.choice(ways)()
