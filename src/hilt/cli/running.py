"""Runs a command's coroutine over the built application, with signals turned into an orderly end."""

import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import anyio
from anyio.abc import TaskStatus

from hilt.app.application import App, ViaSession
from hilt.app.build import build
from hilt.app.config import Config
from hilt.cli.failure import INTERRUPTED, TERMINATED, ExitError
from hilt.ports.permission import Approver

T = TypeVar("T")


class Signals:
    """What SIGINT and SIGTERM do to a command.

    `on`, where it is set, is called with the exit code of the first signal and says whether it is dealt with.
    Otherwise, and for a second signal, the command is cancelled. `code` is the exit code that a signal gives the
    command, 0 without one.
    """

    def __init__(self) -> None:
        self.on: Callable[[int], bool] | None = None
        self.code = 0
        self.scope = anyio.CancelScope()

    async def watch(self, *, task_status: TaskStatus[None]) -> None:
        """Take signals until cancelled."""
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            task_status.started()
            async for number in received:
                self._take(INTERRUPTED if number == signal.SIGINT else TERMINATED)

    def _take(self, code: int) -> None:
        if self.code or self.on is None or not self.on(code):
            self.code = self.code or code
            self.scope.cancel()


def with_app(
    config: Config,
    work: Callable[[App, Signals], Awaitable[T]],
    *,
    approver: Approver | ViaSession | None = None,
    services: Mapping[type, object] | None = None,
) -> T:
    """Build the application, run `work` with it and return what it returns; `services` as `build` takes them.

    Raises:
        ExitError: A signal ended it.
    """
    return anyio.run(_run, config, work, approver, services or {})


async def _run(
    config: Config,
    work: Callable[[App, Signals], Awaitable[T]],
    approver: Approver | ViaSession | None,
    services: Mapping[type, object],
) -> T:
    signals = Signals()
    out: list[T] = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(signals.watch)
        with signals.scope:
            store = config.sessions.store
            async with build(config=config, store=store, approver=approver, services=services) as app:
                out.append(await work(app, signals))
        tasks.cancel_scope.cancel()
    if not out:
        raise ExitError(
            signals.code, "interrupted" if signals.code == INTERRUPTED else "terminated", name="interrupted"
        )
    return out[0]
