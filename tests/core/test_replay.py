import pytest

from hilt.core.replay import Fault, Verdict, judge, pause_s

AGAIN = Verdict(drop=True, again=True)
DROP = Verdict(drop=True)
UNKNOWN = Verdict(drop=True, outcome_unknown=True)
STAY = Verdict()


@pytest.mark.req("MCP-78", "MCP-79", "MCP-80", "MCP-81", "MCP-82", "MCP-83", "MCP-84", "MCP-85", "MCP-86")
@pytest.mark.parametrize(
    ("fault", "mutating", "repeatable", "after_a_dial"),
    [
        (Fault.TIMEOUT, STAY, STAY, STAY),
        (Fault.NOT_SENT, AGAIN, AGAIN, DROP),
        (Fault.SESSION_LOST, AGAIN, AGAIN, DROP),
        (Fault.DECLARED, STAY, STAY, STAY),
        (Fault.SESSION_ENDED, DROP, DROP, DROP),
        (Fault.HTTP_STATUS, STAY, STAY, STAY),
        (Fault.CUT, UNKNOWN, AGAIN, UNKNOWN),
        (Fault.PROTOCOL, STAY, STAY, STAY),
        (Fault.CLOSED, STAY, STAY, STAY),
    ],
)
def test_each_cause_has_its_row(fault: Fault, mutating: Verdict, repeatable: Verdict, after_a_dial: Verdict) -> None:
    assert judge(fault, repeatable=False, dialled=False) == mutating
    assert judge(fault, repeatable=True, dialled=False) == repeatable
    assert judge(fault, repeatable=False, dialled=True) == after_a_dial


@pytest.mark.req("MCP-84", "MCP-86")
def test_a_repeatable_call_that_has_dialled_is_not_sent_again() -> None:
    assert judge(Fault.CUT, repeatable=True, dialled=True) == DROP


@pytest.mark.req("MCP-90")
def test_pauses_double_from_one_second_to_a_minute_and_spread_by_a_fifth() -> None:
    assert [pause_s(n, chance=0.5) for n in range(9)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert pause_s(10_000, chance=0.5) == 60
    assert pause_s(1, chance=0.0) == pytest.approx(0.8)
    assert pause_s(1, chance=1.0) == pytest.approx(1.2)
    assert pause_s(2, chance=0.5, first_s=0.2) == pytest.approx(0.4)
