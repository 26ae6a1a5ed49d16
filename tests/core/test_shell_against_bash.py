"""What the rules let through is run in real bash: it starts no denied program and changes no file."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hilt.core.permission import Effect
from tests.core.rules import book, shell

_GOOD = ("ls", "cat", "echo", "pwd", "true", "wc")
_BAD = ("rm", "touch", "evil", "curl")
_RULES = book(
    *(f"allow shell({name}:*)" for name in (*_GOOD, "printf", "[", "test")),
    *(f"deny shell({name}:*)" for name in _BAD),
    "deny shell(cat *secret*)",
)
_PIECES = [
    "ls",
    "cat",
    "echo",
    "rm~x",
    "touch~y",
    "evil",
    "true",
    "pwd",
    "wc",
    "printf",
    "~",
    "~",
    "~",
    ";",
    "&&",
    "||",
    "|",
    "|&",
    "&",
    "(",
    ")",
    "{~",
    ";~}",
    "$(",
    "`",
    '"',
    "'",
    "\\",
    "$x",
    "${x}",
    "$'",
    "x=",
    "x='a[$(touch~y)]'",
    "'a[$(touch~y)]'",
    "-v",
    "~#",
    "#",
    "<<a",
    "<",
    ">",
    "~>/dev/null",
    "2>&1",
    "&>",
    ">|",
    ">&2",
    "<(",
    "!",
    "[~",
    "~]",
    "if~",
    ";~then~",
    ";~fi",
    "for~x~in~",
    ";~do~",
    ";~done",
    "case~a~in~",
    "a)~",
    ";;~esac",
    "while~",
    "function~f~",
    "f()~",
    "f",
    "eval~",
    "env~",
    "xargs~",
    "time~",
    "command~",
    "exec~",
    "sh~-c~",
    "{a,b}",
    "*",
    "?",
    "secret",
    "se",
    "cret",
    "=",
    "--",
    "-n",
    "export~",
    "unset~",
    "declare~",
    "$((",
    "))",
    "[[~",
    "~]]",
    "a",
    "b",
    "1",
    "$",
    "@P",
    "${x:-",
    "}",
    "*s*",
    "=~",
    "2>",
    "{x}>",
    "coproc~",
    "trap~",
    "~EXIT",
    "EOF",
]
_TEXTS = st.lists(
    st.sampled_from([*(piece.replace("~", " ") for piece in _PIECES), "\n", "\t", "\\\n"]), min_size=1, max_size=8
).map("".join)
_STARTS = st.sampled_from(["ls ", "echo ", "cat ", "x=secret; cat ", "printf ", "true;", ""])


def _programs(folder: Path) -> Path:
    """Make programs that only note that they ran, or that `cat` was given the secret."""
    programs = folder / "bin"
    programs.mkdir()
    for name in (*_GOOD, *_BAD):
        note = f"builtin echo {name} >> {folder}/log"
        test = f'for a in "$@"; do case $a in *secret*) {note};; esac; done' if name == "cat" else ":"
        (programs / name).write_text(f"#!/bin/bash\n{note if name in _BAD else test}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    return programs


def _effects(line: str, folder: Path, programs: Path) -> Sequence[str]:
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "secret").touch()
    with suppress(subprocess.TimeoutExpired):  # a loop without end is no effect
        subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-c", line],
            cwd=work,
            env={"PATH": str(programs), "x": "touch y"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=3,
            check=False,
        )
    log = folder / "log"
    ran = log.read_text(encoding="utf-8").split() if log.exists() else []
    log.unlink(missing_ok=True)
    return [*ran, *(name for name in os.listdir(work) if name != "secret")]


@pytest.mark.req("PRM-60", "PRM-61", "PRM-63", "PRM-64")
def test_what_is_let_through_has_no_effect_that_the_rules_forbid(tmp_path: Path) -> None:
    programs = _programs(tmp_path)
    ran = 0

    @settings(max_examples=1500)
    @given(_STARTS, _TEXTS)
    def each(start: str, text: str) -> None:
        nonlocal ran
        line = start + text
        if shell(_RULES, line) is Effect.ALLOW:
            ran += 1
            assert _effects(line, tmp_path, programs) == []

    each()
    assert ran > 30
    assert _effects("rm a; cat secret; true > new", tmp_path, programs) == ["rm", "cat", "new"]
