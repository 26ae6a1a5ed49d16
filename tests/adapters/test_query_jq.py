"""jq filters in worker processes: what they give, what they cannot reach, and how they end."""

import contextlib
import io
import json
import os
import struct
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import anyio
import pytest

from hilt.adapters.query_jq import worker
from hilt.adapters.query_jq.query import JqQuery, jq_library
from hilt.ports.query import QueryFailedError

BIG = 12345678901234567890


@pytest.fixture
async def query() -> AsyncIterator[JqQuery]:
    made = JqQuery(jq_library())
    yield made
    await made.close()


@pytest.fixture
async def hasty() -> AsyncIterator[JqQuery]:
    """One whose deadline comes soon; the limits are otherwise those of the application."""
    made = JqQuery(jq_library(), deadline_s=0.7)
    yield made
    await made.close()


async def failure(query: JqQuery, program: str, text: str = "null") -> str:
    with pytest.raises(QueryFailedError) as caught:
        await query.run(program, text)
    return str(caught.value)


async def ticks(work_done: anyio.Event) -> float:
    """Return the longest time in seconds for which the event loop did not come round."""
    longest, last = 0.0, time.perf_counter()
    while not work_done.is_set():
        await anyio.sleep(0.005)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest


@pytest.mark.req("RES-56")
@pytest.mark.parametrize(
    ("program", "given"),
    [
        ("empty", "null"),
        (".a", "1"),
        (".a, .b", '[1,"é"]'),
        (".c[]", "[1,2]"),
        (".c", "[1,2]"),
        (".none", "null"),
        ("(.a, .b) # and a comment", '[1,"é"]'),
    ],
)
async def test_no_output_is_null_one_is_itself_and_several_are_an_array(
    query: JqQuery, program: str, given: str
) -> None:
    assert await query.run(program, '{"a": 1, "b": "é", "c": [1, 2]}') == given


@pytest.mark.req("RES-57")
@pytest.mark.parametrize("number", [BIG, -BIG, 2**53 + 1, 10**400])
async def test_whole_numbers_of_any_size_keep_their_digits(query: JqQuery, number: int) -> None:
    found = await query.run("{kept: .[0].n, all: map(.n)}", json.dumps([{"n": number}, {"n": 1}]))
    assert json.loads(found) == {"kept": number, "all": [number, 1]}


@pytest.mark.req("RES-51")
@pytest.mark.parametrize("program", [".[", "}", "nosuch", "$nosuch", '"\\(1', ". |", ") | (", "def f: 1"])
async def test_a_filter_that_does_not_compile_is_told_with_its_place(query: JqQuery, program: str) -> None:
    with pytest.raises(QueryFailedError, match="does not compile") as caught:
        await query.check(program)
    assert "__h" not in str(caught.value)


async def test_a_filter_that_fails_on_its_input_says_why_and_costs_only_itself(query: JqQuery) -> None:
    await query.check(".a.b")
    assert await failure(query, ".a.b", '{"a": 1}') == 'jq_filter failed: Cannot index number with string ("b")'
    assert await failure(query, 'error("boom")') == "jq_filter failed: boom"
    assert "jq_filter failed" in await failure(query, ".", "[1,")
    assert await query.run(".", "1") == "1"


@pytest.mark.req("RES-55")
@pytest.mark.parametrize(
    ("program", "given"),
    [
        ("env", {}),
        ("$ENV", {}),
        ("env.PATH", None),
        ("$ENV.HILT_SECRET", None),
        ("[inputs]", []),
        ("debug", {"a": 1}),
        ('debug("x")', {"a": 1}),
        ("stderr", {"a": 1}),
        ("halt", None),
        ("halt_error", None),
        ('"bye" | halt_error(3)', None),
        ("input_filename", None),
        ("get_search_list", []),
        ("0 | localtime | .[0]", 1970),
    ],
)
async def test_what_leads_outside_gives_nothing(
    query: JqQuery, monkeypatch: pytest.MonkeyPatch, program: str, given: object
) -> None:
    monkeypatch.setenv("HILT_SECRET", "s3cret")
    assert json.loads(await query.run(program, '{"a": 1}')) == given


@pytest.mark.req("RES-55")
@pytest.mark.parametrize(
    "program",
    [
        "input",
        'include "x" {search: "DIR"}; .',
        'import "x" as $x {search: "DIR"}; $x',
        '. ) | import "x" as $x {search: "DIR"}; ($x',
        '.) ; import "x" as x; (.',
        "module {}; .",
        '"DIR/x" | modulemeta',
        '"x" | modulemeta',
        "$__prog_args",
    ],
)
async def test_files_and_modules_cannot_be_read(query: JqQuery, tmp_path: Path, program: str) -> None:
    for name in ("x.json", "x.jq", "x"):
        (tmp_path / name).write_text('"s3cret"')
    assert "s3cret" not in await failure(query, program.replace("DIR", str(tmp_path)), "1")


@pytest.mark.req("RES-55", "RES-60")
async def test_a_worker_has_no_variable_no_open_file_and_no_room_to_write(query: JqQuery) -> None:
    await query.run(".", "1")
    (idle,) = query._idle
    proc = Path(f"/proc/{idle.pid}")
    assert {int(fd.name) for fd in (proc / "fd").iterdir()} == {0, 1, 2}
    assert os.readlink(proc / "cwd") == "/"
    limits = {line[:26].strip(): line[26:].split()[1] for line in (proc / "limits").read_text().splitlines()[1:]}
    assert limits["Max address space"] == str(512 * 1024 * 1024)
    assert limits["Max file size"] == limits["Max core file size"] == limits["Max processes"] == "0"
    assert limits["Max open files"] == "3"


@pytest.mark.req("RES-53", "RES-54")
@pytest.mark.parametrize("program", ["def f: f; f", "last(range(infinite))", "[limit(1e9; repeat(1))] | length"])
async def test_a_filter_that_never_ends_is_stopped_and_nobody_else_waits(hasty: JqQuery, program: str) -> None:
    done = anyio.Event()
    others: list[float] = []
    longest = 0.0

    async def runs_away() -> None:
        told = await failure(hasty, program)
        assert "0.7 s" in told or "512 MiB" in told
        done.set()

    async def others_go_on() -> None:
        await hasty.run(".", "1")
        while not done.is_set():
            began = time.perf_counter()
            await hasty.run(".a", '{"a": 1}')
            others.append(time.perf_counter() - began)
            await anyio.sleep(0.01)

    async def ticking() -> None:
        nonlocal longest
        longest = await ticks(done)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(others_go_on)
            group.start_soon(ticking)
            group.start_soon(runs_away)
    # Other work on the machine may delay any single one.
    assert sorted(others)[len(others) // 2] < 0.1
    assert longest < 0.5
    assert await hasty.run(".", "1") == "1"


@pytest.mark.req("RES-53")
@pytest.mark.parametrize("program", ['"x" * 2000000000', "[range(1e9)]", "def f: [f]; f"])
async def test_a_filter_that_eats_memory_ends_its_worker_alone(program: str) -> None:
    query = JqQuery(jq_library(), memory_bytes=192 * 1024 * 1024, deadline_s=30)
    try:
        assert "192 MiB of memory" in await failure(query, program)
        with anyio.fail_after(5):
            assert await query.run(".", "1") == "1"
    finally:
        await query.close()


@pytest.mark.req("RES-53")
async def test_the_memory_that_a_worker_has_is_512_mib(query: JqQuery) -> None:
    assert await query.run('"x" * 100000000 | length', "1") == "100000000"
    assert "limit of 512 MiB of memory" in await failure(query, '"x" * 600000000', "1")


async def test_who_finds_no_worker_free_is_told_so() -> None:
    busy = JqQuery(jq_library(), deadline_s=2.0, wait_s=0.2)
    told: list[str] = []

    async def endless() -> None:
        told.append(await failure(busy, "last(range(infinite))"))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(endless)
    await busy.close()
    assert sorted(told) == [
        "no worker was free within 0.2 s: too many filters run at once",
        *["the filter ran longer than the limit of 2 s and was stopped"] * 4,
    ]


@pytest.mark.req("RES-53")
async def test_output_has_its_limit_to_the_byte(query: JqQuery) -> None:
    assert len(await query.run('"x" * 99998', "1")) == 100_000
    for program in ('"x" * 99999', "range(1e9)", '("x" * 60000), ("x" * 60000)'):
        assert "limit of 100,000 bytes" in await failure(query, program)


@pytest.mark.req("RES-53")
async def test_input_has_its_limit_to_the_byte(query: JqQuery) -> None:
    limit = 20 * 1024 * 1024
    text = '["' + "é" * (limit // 2 - 2) + '"]'
    assert len(text.encode()) == limit
    assert await query.run(".[0] | length", text) == str(limit // 2 - 2)
    assert "limit of 20 MiB" in await failure(query, ".", text + " ")
    assert "limit of 20 MiB" in await failure(query, ".", " " * (limit + 1))
    assert "longer than 65,536 bytes" in await failure(query, "." + " " * 65_536)


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 10_000 + "]" * 10_000, '{"a":' * 5000 + "1" + "}" * 5000])
async def test_deep_nesting_is_an_error_or_a_value_and_never_the_end(query: JqQuery, text: str) -> None:
    with contextlib.suppress(QueryFailedError):
        await query.run("type", text)
    assert await query.run(".", "1") == "1"


async def test_a_filter_nested_without_end_costs_its_worker_at_most(query: JqQuery) -> None:
    with pytest.raises(QueryFailedError):
        await query.check("(" * 30_000 + "." + ")" * 30_000)
    assert await query.run(".", "1") == "1"


async def test_a_thousand_filters_at_once_each_get_their_own_answer(query: JqQuery) -> None:
    found: dict[int, str] = {}

    async def one(number: int) -> None:
        found[number] = await query.run(".n * 2", json.dumps({"n": number}))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for number in range(1000):
                group.start_soon(one, number)
    assert found == {number: str(number * 2) for number in range(1000)}
    assert len(query._idle) <= 2


async def test_a_worker_that_died_meanwhile_is_replaced(query: JqQuery) -> None:
    await query.run(".", "1")
    (idle,) = query._idle
    os.kill(idle.pid, 9)
    await idle.wait()
    assert await query.run(".", "2") == "2"
    (other,) = query._idle
    os.kill(other.pid, 9)
    # Its end may be seen when the worker is chosen, or only when it does not answer.
    try:
        assert await query.run(".", "3") == "3"
    except QueryFailedError:
        assert await query.run(".", "3") == "3"


async def test_a_caller_that_is_cancelled_takes_its_worker_along(query: JqQuery) -> None:
    with anyio.move_on_after(0.3):
        await query.run("def f: f; f", "1")
    assert query._idle == []
    assert await query.run(".", "1") == "1"


async def test_after_close_no_filter_runs() -> None:
    query = JqQuery(jq_library())
    await query.run(".", "1")
    await query.close()
    assert "closing" in await failure(query, ".", "1")


async def test_a_worker_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    query = JqQuery(str(tmp_path / "none.so"))
    assert "ended its worker (exit 1)" in await failure(query, ".")
    await query.close()


def test_where_a_worker_cannot_be_confined_there_is_no_library() -> None:
    assert jq_library("win32") == ""
    assert Path(jq_library("linux")).is_file()


# ---------------------------------------------------------------- the worker's own functions


class Fixed:
    """A compiled filter with given outputs."""

    def __init__(self, outputs: Iterable[object]) -> None:
        self._outputs = outputs

    def input_text(self, text: str, /) -> Iterable[object]:
        if text == "bad":
            raise ValueError("no good")
        return self._outputs


def compile_(program: str) -> Fixed:
    if "nosuch" in program:
        raise ValueError(f"nosuch in:\n    {program}\njq: 1 compile error")
    return Fixed(["1", "2"])


def test_requests_are_served_until_the_input_ends() -> None:
    def request(program: bytes, text: bytes | None) -> bytes:
        length = worker.COMPILE_ONLY if text is None else len(text)
        return struct.pack(">II", len(program), length) + program + (text or b"")

    source = io.BytesIO(
        request(b".", b"1") + request(b".", None) + request(b"nosuch", b"1") + request(b".", b"bad") + b"\x00"
    )
    sink = io.BytesIO()
    calls: list[int] = []
    worker.serve(source, sink, compile_, lambda: calls.append(1))
    answers = sink.getvalue()
    found = []
    while answers:
        letter, length = struct.unpack_from(">cI", answers)
        found.append((letter, answers[5 : 5 + length].decode()))
        answers = answers[5 + length :]
    assert found == [
        (b"v", "[1,2]"),
        (b"v", ""),
        (b"c", "nosuch in:\n    nosuch\n) | tojson"),
        (b"f", "no good"),
    ]
    assert len(calls) == 4


def test_outputs_are_joined_and_too_much_is_none() -> None:
    assert worker.joined([]) == b"null"
    assert worker.joined(["1"]) == b"1"
    assert worker.joined("12") == b"[1,2]"
    assert worker.joined(["x" * 100_000]) == b"x" * 100_000
    assert worker.joined(["x" * 100_001]) is None
    assert worker.joined(["x" * 99_997, "1"]) is None
