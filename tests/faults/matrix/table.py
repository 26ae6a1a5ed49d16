"""The table of expectations: what hilt's client is to do with each entry, each way it can be run."""

from collections.abc import Awaitable, Callable
from typing import Final

from tests.faults.matrix.trial import Trial

Expectation = Callable[[Trial], Awaitable[None]]

EXPECTED: Final[dict[str, Expectation]] = {}


def expects(*entries: str) -> Callable[[Expectation], Expectation]:
    """Name the entries that an expectation is for."""

    def register(expectation: Expectation) -> Expectation:
        for entry in entries:
            if entry in EXPECTED:
                raise ValueError(f"two expectations for {entry!r}")
            EXPECTED[entry] = expectation
        return expectation

    return register
