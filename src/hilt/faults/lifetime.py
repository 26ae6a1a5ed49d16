"""Ends the process: when it is told to, when its parent has ended, or when an entry wants it gone."""

import os
import signal
import sys
import threading
import time
from typing import Final

POLL_S: Final = 0.2
GRACE_S: Final = 1.0

_codes: list[int] = []


def end_on_signals() -> None:
    """End in good order on SIGTERM and SIGINT; to be called from the main thread."""
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)


def _end(_number: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(_codes[0] if _codes else 0)


def end_process(code: int) -> None:
    """Exit with this code, from any thread; the main thread does it, or after a second nobody is asked."""
    _codes.append(code)

    def insist() -> None:
        time.sleep(GRACE_S)
        os._exit(code)

    threading.Thread(target=insist, name="insist", daemon=True).start()
    os.kill(os.getpid(), signal.SIGTERM)


def end_with_parent() -> None:
    """Watch the parent from a thread, and end once it is gone, whatever else goes on.

    A signal of the kernel would be bound to the parent's thread, which may end long before the parent.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_S)
        end_process(0)

    threading.Thread(target=watch, name="parent", daemon=True).start()
