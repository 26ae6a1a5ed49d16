"""How many sessions may be open at once: all together, and those with an engine of their own."""

import math
from collections.abc import Callable

from hilt.core.errors import RequestError


class SessionPlaces:
    """Counts sessions from before they are made until they are closed."""

    def __init__(self, *, max_open: float = math.inf, max_own_engines: float = math.inf) -> None:
        self.max_open = max_open
        self.max_own_engines = max_own_engines
        self.open = 0
        self.own_engines = 0

    @property
    def full(self) -> bool:
        """Whether no session may be opened before another is closed."""
        return self.open >= self.max_open

    def take(self, *, own: bool) -> Callable[[], None]:
        """Take a place and return the function that frees it, once; `own` for a session with its own engine.

        Raises:
            RequestError: There is none (`cap_reached`).
        """
        if self.full:
            raise _cap(f"{self.open} sessions are open and none of them is idle; close one")
        if own and self.own_engines >= self.max_own_engines:
            raise _cap(f"{self.own_engines} sessions have MCP servers, a model or a profile of their own; close one")
        self.open += 1
        self.own_engines += own
        taken = True

        def free() -> None:
            nonlocal taken
            if taken:
                taken = False
                self.open -= 1
                self.own_engines -= own

        return free


def _cap(text: str) -> RequestError:
    return RequestError(text, code="cap_reached")
