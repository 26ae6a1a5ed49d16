"""One hook, whatever runs it."""

from collections.abc import Sequence
from typing import Protocol

from hilt.core.hook import HookAnswer, HookEvent, HookInput, OnFailure


class HookRunner(Protocol):
    """A hook of one event: a Python callable, a command, or an HTTP endpoint.

    `match` holds globs over tool names, empty for all; `on_failure` None takes the event's default.
    """

    @property
    def name(self) -> str:
        """The name told in events and reasons."""
        ...

    @property
    def event(self) -> HookEvent:
        """The event it is for."""
        ...

    @property
    def match(self) -> Sequence[str]:
        """Globs over tool names."""
        ...

    @property
    def timeout_s(self) -> float:
        """Deadline in seconds."""
        ...

    @property
    def on_failure(self) -> OnFailure | None:
        """What a failure means."""
        ...

    async def run(self, hook_input: HookInput) -> HookAnswer:
        """Run it once; the caller keeps the deadline by cancelling.

        Raises:
            HookFailedError: It crashed or its answer is not of the shape.
        """
        ...
