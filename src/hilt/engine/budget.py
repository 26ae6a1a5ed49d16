"""What runs may spend together: a run counts towards whoever started it, up to the session's own."""

from typing import Final, Protocol

from hilt.core.session import Usage

NOTHING: Final = Usage()


class Payer(Protocol):
    """Counts what is spent below it, and holds it against limits of its own and of who pays for it."""

    def spend(self, usage: Usage = NOTHING, calls: int = 0) -> None:
        """Count tokens and calls."""
        ...

    def tokens_left(self) -> int | None:
        """Return how many tokens may still be used, None without a limit; 0 or less means none."""
        ...

    def calls_left(self) -> int:
        """Return how many calls may still be made; 0 or less means none."""
        ...


class SharedBudget:
    """A limit of tokens over several child agents together, inside what their parent has left; see `Payer`."""

    def __init__(self, outer: Payer, *, max_tokens: int | None = None) -> None:
        self._outer = outer
        self._max_tokens = max_tokens
        self._used = 0

    def spend(self, usage: Usage = NOTHING, calls: int = 0) -> None:
        """See `Payer.spend`."""
        self._used += usage.total
        self._outer.spend(usage, calls)

    def tokens_left(self) -> int | None:
        """See `Payer.tokens_left`."""
        own = None if self._max_tokens is None else self._max_tokens - self._used
        return least(own, self._outer.tokens_left())

    def calls_left(self) -> int:
        """See `Payer.calls_left`."""
        return self._outer.calls_left()


def least(left: int | None, right: int | None) -> int | None:
    """Return the lower of two limits, None where there is none."""
    return min((one for one in (left, right) if one is not None), default=None)
