"""What no file of the repository holds: paths of a machine, private hosts, secrets, silent silencers."""

import io
import os
import pwd
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.architecture.source import INPUTS, ROOT, code, repository_files

_SILENCER = re.compile(r"noqa(?!:)|noqa: [A-Z0-9]+(?:, ?[A-Z0-9]+)*|type: ignore(?:\[[a-z, -]+\])?|pragma: no \w+")
_BARE = re.compile(r"noqa(?!:)|type: ignore(?!\[)")
_REASON_LETTERS_MIN = 8

_SECRET = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bsk-ant-api\d\d-[\w-]{40}|\bghp_\w{36}|\bAKIA[0-9A-Z]{16}\b")
_UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b|^<{7} |^>{7} ", re.MULTILINE)
_REGISTRY = {"pypi.org", "files.pythonhosted.org"}


def _texts() -> Iterator[tuple[str, str]]:
    for name in repository_files():
        if not name.startswith(INPUTS):
            yield name, (ROOT / name).read_bytes().decode("utf-8", errors="replace")


def _machine_paths() -> list[re.Pattern[str]]:
    """Return what finds this folder, the one around it and the user's home, where they are no usual names."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    paths = {str(path) for path in (ROOT, ROOT.parent, Path(home)) if len(path.parts) > 2}
    return [re.compile(rf"(?<![\w.-]){re.escape(path)}/") for path in sorted(paths)]


def test_no_file_holds_a_path_of_this_machine() -> None:
    paths = _machine_paths()
    assert [(name, path.pattern) for name, text in _texts() for path in paths if path.search(text)] == []


def test_no_file_holds_a_secret() -> None:
    assert [(name, found[0][:12]) for name, text in _texts() if (found := _SECRET.search(text))] == []


def test_the_lock_file_names_the_public_registry_alone() -> None:
    urls = re.findall(r'(?:url|registry) = "([^"]+)"', (ROOT / "uv.lock").read_text(encoding="utf-8"))
    assert {urlsplit(url).hostname for url in urls} <= _REGISTRY


def test_code_is_finished() -> None:
    marked = [(name, found[0]) for name, text in code() if (found := _UNFINISHED.search(_without_own(name, text)))]
    assert marked == []


def _without_own(name: str, text: str) -> str:
    """Return `text`, or nothing for this file, which spells the words that it looks for."""
    return "" if name.endswith("architecture/test_repository.py") else text


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _lacks_reason(comment: str) -> bool:
    if not _SILENCER.search(comment):
        return False
    reason = re.sub(r"[^A-Za-z]", "", _SILENCER.sub("", comment))
    return bool(_BARE.search(comment)) or len(reason) < _REASON_LETTERS_MIN


def test_every_silencer_names_its_code_and_its_reason() -> None:
    bare = [
        f"{name}:{line} {comment}"
        for name, text in code()
        for line, comment in _comments(text)
        if _lacks_reason(comment)
    ]
    assert bare == []


def test_silencers_without_code_or_reason_are_recognised() -> None:
    ignore, no_qa = "type: " + "ignore", "no" + "qa"
    assert _lacks_reason(f"# {ignore}  # the library has no types")
    assert _lacks_reason(f"# {ignore}[arg-type]")
    assert _lacks_reason(f"# {no_qa}")
    assert _lacks_reason(f"# {no_qa}: S603, B008")
    assert not _lacks_reason(f"# {ignore}[arg-type]  # the library has no types")
    assert not _lacks_reason(f"# {no_qa}: S603 - the command is a constant")
    assert not _lacks_reason("# a usual comment")
