"""One process that serves many entries over HTTP and SSE, so that a run of hundreds does not start hundreds.

`python -m tests.faults.matrix.farm` takes one JSON line for each entry to start or to stop, and answers each with
one line. It ends with its standard input.
"""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from hilt.faults.entry import set_up
from hilt.faults.protocol import Era, Transport
from hilt.faults.serve import serving
from hilt.faults.table import ENTRIES

ROOT = Path(__file__).parents[3]
END_S = 5.0


class Farm:
    """The process, seen from the tests."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._lock = anyio.Lock()

    async def start(
        self,
        entry: str,
        key: str,
        *,
        transport: str,
        eras: tuple[str, ...],
        settings: Mapping[str, object],
        log_path: Path,
    ) -> str:
        """Start an entry under `key` and return its address."""
        wanted = {"entry": entry, "key": key, "transport": transport, "eras": eras, "log": str(log_path)}
        answer = await self._ask({**wanted, "settings": {name: str(value) for name, value in settings.items()}})
        return str(answer["address"])

    async def stop(self, key: str) -> None:
        """Stop the entry."""
        await self._ask({"key": key})

    async def _ask(self, line: Mapping[str, object]) -> dict[str, object]:
        with anyio.CancelScope(shield=True):
            async with self._lock:
                answer: dict[str, object] = await anyio.to_thread.run_sync(self._exchange, line)
        if "error" in answer:
            raise RuntimeError(str(answer["error"]))
        return answer

    def _exchange(self, line: Mapping[str, object]) -> dict[str, object]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the farm has no pipes")
        stdin.write(json.dumps(line).encode() + b"\n")
        stdin.flush()
        found: dict[str, object] = json.loads(stdout.readline())
        return found


@asynccontextmanager
async def farm() -> AsyncIterator[Farm]:
    """Run the process while the block does."""
    # What measures the tests does not measure, and slow, the servers.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.matrix.farm"],
        cwd=ROOT,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        try:
            yield Farm(process)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _start(order: Mapping[str, object], running: dict[str, ExitStack]) -> dict[str, object]:
    key, settings, eras = str(order["key"]), order["settings"], order["eras"]
    if not isinstance(settings, dict) or not isinstance(eras, list):
        return {"error": "malformed"}
    entry = ENTRIES[str(order["entry"])]
    setup = set_up(
        entry,
        transport=Transport(str(order["transport"])),
        eras=tuple(Era(era) for era in eras),
        settings=settings,
        log_path=Path(str(order["log"])),
    )
    stack = ExitStack()
    address = stack.enter_context(serving(entry.server(setup)))
    running[key] = stack
    return {"address": address}


def main() -> None:
    """Start and stop entries as the lines say."""
    running: dict[str, ExitStack] = {}
    for line in sys.stdin:
        order = json.loads(line)
        if "entry" in order:
            try:
                answer = _start(order, running)
            except Exception as exc:
                # The other side is a test, which is to see what went wrong.
                answer = {"error": repr(exc)}
        else:
            running.pop(order["key"]).close()
            answer = {}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
