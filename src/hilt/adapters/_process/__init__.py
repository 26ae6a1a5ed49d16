"""Process trees: start one under a supervisor, read its streams as it runs, end it to the last descendant.

The command is a child of `supervisor.py`, which outlives it until no descendant is left and ends them all
when this process dies. Nothing here needs a task in the background: a tree may be used and closed from any
task of the event loop that started it. Start trees on that loop's own thread, never on a worker thread: the
supervisor takes the end of the thread that started it for the end of the process.
"""

from hilt.adapters._process.pipe import PipeReader, PipeWriter
from hilt.adapters._process.run import KEPT_BYTES, Completed, HeadTail, Kept, follow, run_process
from hilt.adapters._process.tree import ProcessTree, start_process

__all__ = [
    "KEPT_BYTES",
    "Completed",
    "HeadTail",
    "Kept",
    "PipeReader",
    "PipeWriter",
    "ProcessTree",
    "follow",
    "run_process",
    "start_process",
]
