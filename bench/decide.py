"""Deciding one call by 200 rules: a custom tool's arguments, a path, and a shell line of three commands."""

from collections.abc import Callable

import hilt
from bench.figures import Figure, Options, number
from bench.timing import batches
from hilt.core.permission import PermissionRule, Subject, Subjects
from hilt.core.rulebook import RuleBook
from hilt.core.subjects import argument_subjects

REQ = ("PRM-26",)

RULES = 200
LIMIT_US = 50.0
VARIED = 50
EFFECTS: tuple[Callable[[str], PermissionRule], ...] = (hilt.allow, hilt.ask, hilt.deny)


def rules() -> list[PermissionRule]:
    """Return 200 rules: a quarter each for servers, paths, commands and the arguments of one tool."""
    shapes = ("mcp__server{}__*", "Write(dir{}/**)", "shell(program{} *)", "lookup(key=secret{}*)")
    return [EFFECTS[place % 3](shapes[place % 4].format(place)) for place in range(RULES)]


def _of_text(kind: str, texts: list[str]) -> Subjects:
    return Subjects(unnamed=tuple(Subject(text=text, kind=kind) for text in texts))  # type: ignore[arg-type]  # one of its own literals


def measure(options: Options) -> list[Figure]:
    """Return the median of a decision for each kind of call, each with changing subjects."""
    book = RuleBook(rules(), root="/w", home="/h")
    numbers = range(VARIED)
    cases: dict[str, tuple[str, list[Subjects]]] = {
        "arguments of a custom tool": ("lookup", [argument_subjects({"key": f"k{n}", "n": n}) for n in numbers]),
        "a path": ("Write", [_of_text("path", [f"/w/src/part{n}/file.py"]) for n in numbers]),
        "a shell line of 3 commands": (
            "shell",
            [_of_text("command", [f"git log -{n}", "grep fix", f"head -{n}"]) for n in numbers],
        ),
    }
    figures = []
    for what, (tool, subjects) in cases.items():
        alone = _median_us(RuleBook([]), tool, subjects, options)
        value = _median_us(book, tool, subjects, options)
        figures.append(
            Figure(
                what=f"decision by 200 rules: {what}",
                value=value,
                unit="µs",
                limit=LIMIT_US,
                beside=f"{number(alone)} µs without rules",
            )
        )
    return figures


def _median_us(book: RuleBook, tool: str, subjects: list[Subjects], options: Options) -> float:
    def work(times: int) -> None:
        for _ in range(times):
            for one in subjects:
                book.decide(tool, one, read_only=True)

    return batches(work, count=options.times(60, 3), size=options.times(10)).median / len(subjects) * 1e6
