"""Between `docs/spec` and the tests, both ways; and the reading itself, on made-up files."""

import re
from pathlib import Path

import pytest

from tests.promises import Ledger, gaps_of, main, read, stale, table
from tests.spec import Promise, Proof, SpecError, benched, marked, merged, promises, span


def test_every_promise_has_a_test_or_a_known_gap() -> None:
    assert read().unproved() == []


def test_no_gap_is_left_in_the_list_once_a_test_proves_it() -> None:
    assert read().closed() == []


def test_every_id_in_a_mark_or_gap_is_a_promise_of_the_spec() -> None:
    assert read().unknown() == []


def test_every_gap_has_a_reason() -> None:
    assert [key for key, reason in read().gaps.items() if len(reason) < 10] == []


def _folder(tmp_path: Path, name: str, text: str) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_promise_is_read_with_its_origin_place_and_whole_text(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "a.md", "# A\n\n- ABC-01 [seed] One\n  and more.\n- ABC-100 [beyond] Two.\n")
    assert list(promises(folder).values()) == [
        Promise(id="ABC-01", origin="seed", text="One and more.", where="a.md:3"),
        Promise(id="ABC-100", origin="beyond", text="Two.", where="a.md:5"),
    ]


@pytest.mark.parametrize("line", ["- ABC-01 bare", "- ABC-1 [seed] short", "* ABC-01 [seed] star", "- **ABC-01** x"])
def test_a_bullet_with_an_id_in_another_form_is_an_error(tmp_path: Path, line: str) -> None:
    with pytest.raises(SpecError, match=re.escape("a.md:1")):
        promises(_folder(tmp_path, "a.md", line))


def test_an_id_given_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"a\.md:2: ABC-01 is also at a\.md:1"):
        promises(_folder(tmp_path, "a.md", "- ABC-01 [seed] One.\n- ABC-01 [seed] Two.\n"))


_MARKED = """
import pytest
pytestmark = pytest.mark.req("ABC-01")

@pytest.mark.req("ABC-02", "ABC-03")
@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.req("ABC-04"))])
async def test_x(n): ...
"""


def test_marks_are_found_on_modules_functions_and_parameters(tmp_path: Path) -> None:
    found = marked(_folder(tmp_path, "test_a.py", _MARKED))
    assert {key: [proof.where for proof in proofs] for key, proofs in found.items()} == {
        "ABC-01": ["folder/test_a.py:3"],
        "ABC-02": ["folder/test_a.py:5"],
        "ABC-03": ["folder/test_a.py:5"],
        "ABC-04": ["folder/test_a.py:6"],
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test_a.py", "@pytest.mark.req(*IDS)\ndef test_x(): ..."),
        ("test_a.py", "@pytest.mark.req(7)\ndef test_x(): ..."),
        ("rows.py", "@pytest.mark.req('ABC-01')\ndef test_x(): ..."),
    ],
)
def test_a_mark_that_cannot_be_read_or_proves_nothing_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(SpecError, match=rf"folder/{name}:1"):
        marked(_folder(tmp_path, name, text))


@pytest.mark.parametrize("line", ['REQ = ("ABC-01", "ABC-02")', 'REQ: tuple[str, ...] = ("ABC-01", "ABC-02")'])
def test_a_benchmark_names_its_promises_in_a_tuple(tmp_path: Path, line: str) -> None:
    assert list(benched(_folder(tmp_path, "speed.py", line))) == ["ABC-01", "ABC-02"]


def test_benchmark_ids_that_are_computed_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"folder/speed\.py:1"):
        benched(_folder(tmp_path, "speed.py", "REQ = tuple(ids())"))


def test_a_gap_in_two_groups_and_a_span_of_nothing_are_errors() -> None:
    with pytest.raises(SpecError, match="CAT-01 is a gap twice"):
        merged({"CAT-01": "one"}, span("CAT", 1, 2, "two"))
    with pytest.raises(SpecError, match="ZZZ-01"):
        span("ZZZ", 1, 9, "none")


def _promise(key: str) -> Promise:
    return Promise(id=key, origin="seed", text=f"Text of {key}.", where="a.md:1")


def _proofs(*keys: str) -> dict[str, list[Proof]]:
    return {key: [Proof(id=key, where="tests/test_a.py:1")] for key in keys}


LEDGER = Ledger(
    promises={key: _promise(key) for key in ("ABC-01", "ABC-02", "ABC-03", "XYZ-01")},
    tested=_proofs("ABC-01", "QQQ-01"),
    benched=_proofs("ABC-01", "ABC-02"),
    gaps={"ABC-01": "a gap that is closed", "XYZ-01": "not built"},
)


def test_the_table_counts_by_prefix_and_sums_up() -> None:
    lines = [line.split() for line in table(LEDGER).splitlines() if "-" not in line]
    assert lines == [
        ["prefix", "promises", "tested", "bench", "gaps"],
        ["ABC", "3", "1", "1", "1"],
        ["XYZ", "1", "0", "0", "1"],
        ["all", "4", "1", "1", "2"],
    ]


def test_the_gaps_of_a_prefix_come_with_reason_and_text() -> None:
    assert gaps_of(LEDGER, "XYZ") == ["XYZ-01  not built\n        Text of XYZ-01."]
    assert "neither a test nor an entry" in gaps_of(LEDGER, "ABC")[0]


def test_stale_names_closed_gaps_bare_promises_and_unknown_ids() -> None:
    assert stale(LEDGER) == [
        "ABC-01 is proved: delete its gap (tests/test_a.py:1)",
        "ABC-03 has neither a test nor a gap",
        "QQQ-01 at tests/test_a.py:1: the spec has no such id",
    ]


def test_the_command_fails_for_gaps_and_for_an_unknown_prefix(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 0
    assert main(["aut"]) == (1 if any(key.startswith("AUT") for key in read().gaps) else 0)
    capsys.readouterr()
    assert main(["ZZZ"]) == 2
    assert "no promise starts with 'ZZZ'" in capsys.readouterr().err
