"""Runs jq filters for the process that started it; a script of its own, which knows nothing of hilt.

Started as `python -I -S worker.py JQ_LIBRARY MEMORY_BYTES` with an empty environment. It reads frames from
standard input and answers each on standard output, until its input ends.

A request is a head of two lengths (each 4 bytes, big-endian), the filter, and the JSON text; a text length of
0xFFFFFFFF asks for a compile alone. An answer is one letter, a length, and that many bytes: `v` the JSON value,
`c` why the filter does not compile, `f` why it failed, `o` for too much output.
"""

import importlib.machinery
import importlib.util
import os
import resource
import struct
import sys
from collections.abc import Callable, Iterable
from typing import BinaryIO, Protocol

OUTPUT_MAX_BYTES = 100_000
CPU_S = 8
REASON_MAX_BYTES = 1_000
COMPILE_ONLY = 0xFFFFFFFF
OUT_OF_MEMORY = 3
PREFIX = "def __h: .; ("
REQUEST = struct.Struct(">II")
ANSWER = struct.Struct(">cI")


class Program(Protocol):
    """A compiled filter."""

    def input_text(self, text: str, /) -> Iterable[object]:
        """Return its outputs for the text, as they are made."""
        ...


def wrapped(program: str) -> str:
    """Return the filter so that it can load nothing and numbers keep their digits.

    A definition and a parenthesis in front make every `import`, `include` and `module` a syntax error; the line
    end keeps a comment from swallowing the parenthesis.
    """
    return f"{PREFIX}{program}\n) | tojson"


def joined(outputs: Iterable[object]) -> bytes | None:
    """Return no output as null, one as it is, several as one array; None when they are too much."""
    parts: list[bytes] = []
    total = 2
    for output in outputs:
        part = str(output).encode("utf-8", "replace")
        total += len(part) + 1
        if total > OUTPUT_MAX_BYTES + 3:
            return None
        parts.append(part)
    if not parts:
        return b"null"
    value = parts[0] if len(parts) == 1 else b"[" + b",".join(parts) + b"]"
    return value if len(value) <= OUTPUT_MAX_BYTES else None


def answer(compile_: Callable[[str], Program], program: str, text: str | None) -> tuple[bytes, bytes]:
    """Return letter and body of the answer to one request; `text` None asks for a compile alone."""
    try:
        compiled = compile_(wrapped(program))
    except ValueError as exc:
        return b"c", reason(exc)
    if text is None:
        return b"v", b""
    try:
        value = joined(compiled.input_text(text))
    except ValueError as exc:
        return b"f", reason(exc)
    return (b"o", b"") if value is None else (b"v", value)


def reason(exc: ValueError) -> bytes:
    """Return what jq said, without what was put around the filter."""
    lines = [line for line in str(exc).splitlines() if "compile error" not in line]
    return "\n".join(line.replace(PREFIX, "") for line in lines)[:REASON_MAX_BYTES].encode("utf-8", "replace")


def serve(source: BinaryIO, sink: BinaryIO, compile_: Callable[[str], Program], before: Callable[[], None]) -> None:
    """Answer requests until the source ends; `before` is called ahead of each."""
    while len(head := source.read(REQUEST.size)) == REQUEST.size:
        program_bytes, text_bytes = REQUEST.unpack(head)
        program = source.read(program_bytes).decode("utf-8", "replace")
        text = None if text_bytes == COMPILE_ONLY else source.read(text_bytes).decode("utf-8", "replace")
        before()
        letter, body = answer(compile_, program, text)
        del text
        sink.write(ANSWER.pack(letter, len(body)) + body)
        sink.flush()


def load(path: str) -> Callable[[str], Program]:  # pragma: no cover - runs in the worker process
    """Return the compiler of the jq library, loaded from its own file so that no path holds packages."""
    loader = importlib.machinery.ExtensionFileLoader("jq", path)
    spec = importlib.util.spec_from_file_location("jq", path, loader=loader)
    if spec is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    compile_: Callable[[str], Program] = module.compile
    return compile_


def confine(memory_bytes: int) -> None:  # pragma: no cover - would confine the process that tests it
    """Give up what a filter must not have: memory without end, files, other processes, variables."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    for limit, value in (
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 3),  # the three that are open: none can be opened
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(limit, (value, value))
    for name in list(os.environ):
        del os.environ[name]


def more_time() -> None:  # pragma: no cover - would limit the process that tests it
    """Move the limit of processor time, for the case that nobody is left to end this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + CPU_S
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main(args: list[str]) -> None:  # pragma: no cover - runs in the worker process
    """Load jq, give up everything else, and serve."""
    compile_ = load(args[0])
    answer(compile_, ".", "1")
    confine(int(args[1]))
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer, compile_, more_time)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


if __name__ == "__main__":  # pragma: no cover - the worker process
    main(sys.argv[1:])
