"""Paths, patterns, lines and edits as plain functions, held against other ways to the same answer."""

import itertools
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.errors import ToolError
from hilt.core.files.edit import edit
from hilt.core.files.glob import Glob
from hilt.core.files.ignore import IgnoreRules
from hilt.core.files.lines import LinePattern, window, with_context
from hilt.core.files.path import below, child, is_system, joined, nearest, normalised, printable, split_last
from hilt.core.files.query import NumberedLine


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", "."),
        (".", "."),
        ("a//b/./c/", "a/b/c"),
        ("a/../..", ".."),
        ("../../x", "../../x"),
        ("/", "/"),
        ("/../a/..", "/"),
        ("/a/b/../c", "/a/c"),
    ],
)
def test_a_path_is_freed_of_dots(path: str, expected: str) -> None:
    assert normalised(path) == expected


def test_paths_are_told_apart_by_root() -> None:
    assert below("/a", "/a") == "."
    assert below("/a", "/a/b") == "b"
    assert below("/a", "/ab") is None
    assert below("/", "/x/y") == "x/y"
    assert joined("/a", "../b") == "/b"
    assert is_system("/proc")
    assert is_system("/dev/null")
    assert not is_system("/device")
    assert (split_last("a/b"), split_last("a"), split_last("/a")) == (("a", "b"), (".", "a"), ("/", "a"))
    assert (child(".", "a"), child("/", "a"), child("d", "a")) == ("a", "/a", "d/a")
    assert printable("a\udce9\n\x7fb") == "a�" + "��b"


def test_near_names_are_the_most_alike_first() -> None:
    names = ["config.yaml", "config.yml", "main.py", "Config.YAML", "x"]
    assert nearest("config.yaml", names) == ("Config.YAML", "config.yaml", "config.yml")
    assert nearest("mian.py", names) == ("main.py",)
    assert nearest("", names) == ()


SEGMENTS = st.text(st.sampled_from("ab.é"), min_size=1, max_size=3).filter(lambda s: s not in (".", ".."))
PATHS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)
PATTERNS = st.lists(
    st.one_of(st.just("**"), st.text(st.sampled_from("ab.é*?"), min_size=1, max_size=4)),
    min_size=1,
    max_size=4,
).map("/".join)


def _slow_match(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(path)
        return any(_slow_match(pattern[1:], path[n:]) for n in range(len(path) + 1))
    if not path:
        return False
    signs = {"*": "[^/]*", "?": "[^/]"}
    regex = "".join(signs.get(c, re.escape(c)) for c in pattern[0])
    return re.fullmatch(regex, path[0]) is not None and _slow_match(pattern[1:], path[1:])


@given(PATTERNS, PATHS)
def test_a_glob_matches_as_a_slow_matcher_does(pattern: str, path: str) -> None:
    parts = [part for part in pattern.split("/") if part != "."]
    try:
        glob = Glob(pattern)
    except ToolError:
        assert not parts or ".." in parts
        return
    assert glob.matches(path) == _slow_match(parts, path.split("/"))


def test_a_glob_of_one_part_matches_at_any_depth_on_demand() -> None:
    assert Glob("*.py", any_depth=True).matches("a/b.py")
    assert not Glob("*.py").matches("a/b.py")
    assert not Glob("d/*.py", any_depth=True).matches("a/d/b.py")
    assert Glob("a\\,{b,c\\,d},e").matches("a,c,d,e")
    assert Glob("[^a-c][]]").matches("d]")
    assert not Glob("[!a]").matches("/")
    assert Glob("caf?").matches("caf\udce9")
    assert (Glob("a/b/*.c").start, Glob("a/{b,c}/d").start, Glob("a").start) == ("a/b", "a", ".")
    for pattern in ("\ud800", "a\0", "x" * 5000, "{" * 9):
        with pytest.raises(ToolError):
            Glob(pattern)


IGNORE = """
# comment
*.log
!keep.log
/top
dir/
a/**/z
**/deep
mid/file
[xy].c
\\!bang
\\#hash
bad[
\\
"""
TREE = """
a.log keep.log top/x sub/top dir/x sub/dir/x dir.txt a/z a/b/c/z b/z q/deep/x mid/file s/mid/file x.c z.c
!bang #hash bad[ sub/a.log café.log
""".split()  # noqa: SIM905 - reads better than a list


def test_ignore_rules_decide_as_git_does(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / ".gitignore").write_text(IGNORE)
    (tmp_path / "sub" / ".gitignore").write_text("!a.log\nx\n")
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    ignored = subprocess.run(
        ["git", "-C", str(tmp_path), "-c", "core.quotePath=false", "check-ignore", "--no-index", *TREE],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout.splitlines()

    def is_ignored(path: str) -> bool:
        rules = IgnoreRules().entering(".", IGNORE.encode())
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            if rules.ignores("/".join(parts[:end]), directory=end < len(parts)):
                return True
            if parts[:end] == ["sub"]:
                rules = rules.entering("sub", b"!a.log\nx\n")
        return False

    assert [name for name in TREE if is_ignored(name)] == ignored
    assert IgnoreRules().entering(".", None) == IgnoreRules()
    assert IgnoreRules().entering(".", b"# nothing\n") == IgnoreRules()


LINE_TEXTS = st.lists(st.text(st.sampled_from("ab é"), max_size=6), max_size=30)
LINE_PATTERNS = st.sampled_from(["a", "^a", "b$", "^$", "a.b", "[^a]", "(a|b)+ ", "\\s", "a*", "é", "\\bb", "x*$"])


@given(LINE_TEXTS, LINE_PATTERNS, st.booleans(), st.integers(0, 3))
def test_lines_match_as_if_each_stood_alone(lines: list[str], pattern: str, ended: bool, context: int) -> None:
    text = "\n".join(lines) + ("\n" if ended and lines else "")
    content = text.encode()
    expected = text.split("\n")
    if expected[-1] == "":
        expected.pop()
    wanted = [NumberedLine(n, line.encode()) for n, line in enumerate(expected, 1) if re.search(pattern, line)]

    found = list(LinePattern(pattern).matching(content, expired=lambda: False))
    assert found == wanted
    groups = with_context(content, found, context)
    shown = [line for group in groups for line in group]
    near = {m.number + d for m in wanted for d in range(-context, context + 1)}
    assert [line.number for line in shown] == [n for n in range(1, len(expected) + 1) if n in near]
    assert [line for line in shown if line.matches] == wanted
    assert all(group[0].number > before[-1].number + 1 for before, group in itertools.pairwise(groups))


def test_lines_are_numbered_over_many_blocks() -> None:
    content = b"".join(b"line %d %s\n" % (n, b"x" * (n % 50)) for n in range(1, 20_001))
    long_line = content + b"y" * 200_000 + b"hit\nhit"

    found = LinePattern("^line (7|13000|20000) |hit").matching(long_line, expired=lambda: False)
    assert [line.number for line in found] == [7, 13000, 20000, 20001, 20002]
    assert list(LinePattern("line").matching(content, expired=lambda: True)) == []


def test_a_bad_pattern_is_refused_with_its_own_text() -> None:
    for pattern, words in (
        ("a)(?m:b", r"unexpected \): a\)\(\?m:b"),
        ("(?<=a)b", "invalid perl operator"),
        ("x" * 5000, "characters"),
        ("\ud800", "surrogates"),
        ("((a{1000}){1000})", "repetition size"),
    ):
        with pytest.raises(ToolError, match=words):
            LinePattern(pattern)
    assert list(LinePattern("a.b(", literal=True).matching(b"a.b(", expired=lambda: False))
    assert list(LinePattern("É", ignore_case=True).matching("é".encode(), expired=lambda: False))


@given(
    st.lists(st.binary(max_size=5).map(lambda b: b.replace(b"\x01", b"\n").replace(b"\x02", b"\r\n")), max_size=8),
    st.integers(1, 5),
    st.integers(1, 5),
)
def test_a_window_is_the_same_however_the_stream_is_cut(chunks: list[bytes], first: int, count: int) -> None:
    content = b"".join(chunks)
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    found = window([c for c in chunks if c], first=first, count=count, line_max_bytes=99)

    assert found.lines == tuple(one.removesuffix(b"\r") for one in lines[first - 1 : first - 1 + count])
    assert found.total_lines == len(lines)
    assert found.head == content


TEXTS = st.text(st.sampled_from("ab\n"), min_size=1, max_size=4)


@given(st.text(st.sampled_from("ab\n"), max_size=20), TEXTS, st.text(st.sampled_from("abc\n"), max_size=4))
def test_an_edit_of_crlf_text_is_the_edit_of_lf_text(text: str, old: str, new: str) -> None:
    def attempt(content: str) -> bytes | str:
        try:
            return edit(content.encode(), old, new).content
        except ToolError as exc:
            return exc.reason

    plain = attempt(text)
    if "\n" in text:
        windows = attempt(text.replace("\n", "\r\n"))
        assert windows == (plain.replace(b"\n", b"\r\n") if isinstance(plain, bytes) else plain)
    if isinstance(plain, bytes):
        assert plain.decode() == text.replace(old, new)


@given(st.binary(max_size=30), st.binary(max_size=30), st.sampled_from(["x", "a\nb", "é"]))
def test_an_edit_keeps_every_byte_around_it(before: bytes, after: bytes, new: str) -> None:
    before, after = before.replace(b"\0", b"."), after.replace(b"\0", b".")
    content = before + b"<old>" + after
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or content.count(b"<old>") != 1:
        return
    found = edit(content, "<old>", new).content
    assert found.startswith(before)
    assert found.endswith(after)
    assert found[len(before) : len(found) - len(after)].replace(b"\r\n", b"\n") == new.encode()


def test_an_edit_of_what_is_no_utf_8_text_is_refused() -> None:
    for content in (b"\xff\xfea\0", b"a\0"):
        with pytest.raises(ToolError, match="not UTF-8 text"):
            edit(content, "a", "b")


def test_an_edit_never_makes_a_file_huge() -> None:
    with pytest.raises(ToolError, match="would have"):
        edit(b"a" * (1 << 20), "a", "b" * 100, replace_all=True)
