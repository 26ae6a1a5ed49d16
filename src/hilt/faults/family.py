"""A child process of the entry `grandchildren`, which may start children of its own.

`python -m hilt.faults.family ROLES SECONDS LOG`: the first of the roles is this process's, the others are its
children's and grandchildren's. `stubborn` ignores SIGTERM, `apart` has a session of its own, `holder` keeps the
standard output that it was given; a `plain` one does nothing of this. LOG may be empty.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from hilt.faults.log import Log


def start(roles: str, seconds: float, log_path: Path | None) -> None:
    """Start a process of the first of the roles, separated by commas, with the others below it."""
    role = roles.split(",", maxsplit=1)[0]
    null = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, "-m", "hilt.faults.family", roles, str(seconds), str(log_path or "")],
        stdin=null,
        stdout=None if role == "holder" else null,
        stderr=None if role == "holder" else null,
        start_new_session=role == "apart",
    )


def main(roles: str, seconds: float, log_path: Path | None) -> None:
    """Be the first of the roles for some seconds."""
    role, _, below = roles.partition(",")
    if role == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Log(log_path).write("child", role=role, pid=os.getpid(), parent=os.getppid())
    if below:
        start(below, seconds, log_path)
    time.sleep(seconds)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]) if sys.argv[3] else None)
