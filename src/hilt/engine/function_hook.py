"""Hooks that are Python callables: async ones run on the event loop, plain ones in a worker thread."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from anyio import to_thread

from hilt.core.errors import HookFailedError
from hilt.core.hook import (
    NO_ANSWER,
    TIMEOUT_DEFAULT_S,
    HookAnswer,
    HookEvent,
    HookInput,
    OnFailure,
    parse_answer,
)

logger = logging.getLogger(__name__)

Said = HookAnswer | Mapping[str, object] | None
HookFunction = Callable[[HookInput], Said | Awaitable[Said]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionHook:
    """A hook that calls `function`; see `HookRunner`. It can still be called as the function that it was."""

    name: str
    event: HookEvent
    function: HookFunction
    match: tuple[str, ...] = ()
    timeout_s: float = TIMEOUT_DEFAULT_S
    on_failure: OnFailure | None = None

    def __call__(self, hook_input: HookInput) -> Said | Awaitable[Said]:
        """Call the function itself."""
        return self.function(hook_input)

    async def run(self, hook_input: HookInput) -> HookAnswer:
        """See `HookRunner.run`; a plain function that is late is left behind in its thread."""
        try:
            said = await self._call(hook_input)
        except HookFailedError:
            raise
        except (Exception, SystemExit) as exc:
            logger.exception("hook_crashed hook=%s", self.name)
            raise HookFailedError(f"it raised {type(exc).__name__}") from exc
        return self._answer(said)

    async def _call(self, hook_input: HookInput) -> object:
        if _is_async(self.function):
            said: object = self.function(hook_input)
        else:
            said = await to_thread.run_sync(self.function, hook_input, abandon_on_cancel=True)
        return await said if inspect.isawaitable(said) else said

    def _answer(self, said: object) -> HookAnswer:
        match said:
            case None:
                return NO_ANSWER
            case HookAnswer():
                return said
            case Mapping():
                answer, unknown = parse_answer(said, self.event)
                if unknown:
                    keys = ", ".join(unknown)
                    logger.warning("hook_answer_has_unknown_keys hook=%s keys=%s", self.name, keys)
                return answer
            case _:
                raise HookFailedError(f"it returned {type(said).__name__}, no HookAnswer or mapping")


def _is_async(function: HookFunction) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - what an object's call is, not whether it has one
    )


def hook(
    event: HookEvent | str,
    *,
    match: Sequence[str] = (),
    timeout_s: float = TIMEOUT_DEFAULT_S,
    on_failure: OnFailure | None = None,
    name: str | None = None,
) -> Callable[[HookFunction], FunctionHook]:
    """Turn a function, plain or async, into a hook of `event`; its own name is the default name.

    It is given a `HookInput` and returns None, a `HookAnswer`, or a mapping in the shape of hooks' JSON
    answers. `match` holds globs over tool names, none for all.

    Raises:
        ValueError: There is no such event.
    """
    when = HookEvent(event)

    def wrap(function: HookFunction) -> FunctionHook:
        return FunctionHook(
            name=name or str(getattr(function, "__name__", type(function).__name__)),
            event=when,
            function=function,
            match=(match,) if isinstance(match, str) else tuple(match),
            timeout_s=timeout_s,
            on_failure=on_failure,
        )

    return wrap
