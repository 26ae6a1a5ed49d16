"""Kind b: argument text as models send it, up to the arguments that a tool or server gets."""

import json
from pathlib import Path

import pytest

from hilt.core.errors import ErrorCode, ToolError
from hilt.core.schema import ArgumentCheck, decode_arguments

_CASES: list[dict[str, object]] = json.loads(
    (Path(__file__).parent / "inputs" / "b_arguments.json").read_text(encoding="utf-8")
)
_SENT = [case for case in _CASES if isinstance(case["expect"], dict)]
_REFUSED = {
    "b1-not": "ids",
    "b2-required": "q",
    "b3-cut": "incomplete",
    "b3-comma": "not JSON",
    "b3-hole": "not JSON",
    "b4-array": "expected a JSON object",
    "b4-number": "expected a JSON object",
    "b4-string": "expected a JSON object",
    "b4-bool": "expected a JSON object",
}


def _named(case: dict[str, object]) -> str:
    return str(case["case"])


def _sent(case: dict[str, object]) -> dict[str, object]:
    check = ArgumentCheck.of("case", json.dumps(case["schema"]), strict_keys=False)
    return check.check(decode_arguments(str(case["raw"])).arguments).arguments


@pytest.mark.req("DSP-30", "DSP-35", "DSP-36")
@pytest.mark.parametrize("case", _SENT, ids=_named)
def test_arguments_arrive_as_the_case_says(case: dict[str, object]) -> None:
    assert case["expect"] == {"sent": _sent(case)}


@pytest.mark.req("DSP-32")
def test_arguments_in_a_string_in_a_string_are_read_once_more() -> None:
    case = next(case for case in _CASES if case["case"] == "b1-twice")
    assert _sent(case) == {"ids": [4]}


@pytest.mark.req("DSP-31", "DSP-33", "DSP-37")
@pytest.mark.parametrize("name", _REFUSED)
def test_arguments_that_cannot_be_sent_are_told_and_never_taken_as_empty(name: str) -> None:
    case = next(case for case in _CASES if case["case"] == name)
    with pytest.raises(ToolError, match=_REFUSED[name]) as refusal:
        _sent(case)
    assert refusal.value.code is ErrorCode.INVALID_ARGUMENTS


def test_every_case_is_tried() -> None:
    assert len(_SENT) + len(_REFUSED) + 1 == len(_CASES)
