"""Filters in layers (catalog.md section 6)."""

import json
import logging
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.session import ToolFilter
from hilt.engine.visibility import Visibility
from tests.engine.test_catalog import Named, catalog_of
from tests.flows.kit import Flow, call, says

NAMES = ["Read", "Write", "mcp__git__log", "mcp__git__push", "shell"]
patterns = st.lists(st.sampled_from([*NAMES, "*", "mcp__*", "mcp__git__*", "R*"]), max_size=3).map(tuple)
layers = st.builds(ToolFilter, allow=st.none() | patterns, deny=patterns)


@pytest.mark.req("CAT-70")
@given(st.lists(layers, max_size=4), layers)
def test_no_layer_can_widen(above: list[ToolFilter], one: ToolFilter) -> None:
    before = Visibility(above)
    after = before.narrowed(one)
    for name in NAMES:
        assert before.sees(name) or not after.sees(name)


@pytest.mark.req("CAT-70")
def test_allow_sets_intersect_deny_sets_unite_and_deny_wins() -> None:
    seen = Visibility(
        [ToolFilter(allow=("mcp__*", "Read")), ToolFilter(allow=("mcp__git__*",), deny=("*push",)), ToolFilter()]
    )
    assert [name for name in NAMES if seen.sees(name)] == ["mcp__git__log"]
    assert Visibility([ToolFilter(allow=())]).sees("Read") is False
    assert Visibility().open
    assert not seen.open


@pytest.mark.req("CAT-71", "DSP-05")
async def test_a_hidden_tool_is_not_listed_and_a_call_of_it_is_denied_unexecuted() -> None:
    hidden = says("Hidden")
    flow = Flow([says("Look"), hidden], [{"calls": [call("Hidden"), call("Hiden")]}, {"text": "done"}])
    flow.agent.conversation.visibility = Visibility([ToolFilter(deny=("Hid*",))])
    await flow.run()
    assert [spec.name for spec in flow.model.requests[0].tools] == ["Look"]
    denied, unknown = (json.loads(result.content) for result in flow.results)
    assert denied["error"] == "access_denied"
    assert "filter" in denied["message"]
    assert unknown["error"] == "tool_not_found"
    assert "Hidden" not in unknown["message"]
    assert hidden.calls == []


@pytest.mark.req("CAT-72")
def test_an_allowed_name_that_no_tool_has_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    seen = Visibility([ToolFilter(allow=("Read", "Nope"), deny=("Never",))])
    with caplog.at_level(logging.WARNING):
        seen.report_unknown(catalog_of(Named("Read")))
    (line,) = [record.getMessage() for record in caplog.records]
    assert "Nope" in line
    assert "Never" not in line


@pytest.mark.req("CAT-72")
def test_names_of_servers_that_may_still_come_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    seen = Visibility([ToolFilter(allow=("Nope", "mcp__late__*"))])
    with caplog.at_level(logging.WARNING):
        seen.report_unknown(catalog_of(Named("Read")), complete=False)
        seen.report_unknown(catalog_of(Named("Read")))
    partly, wholly = [record.getMessage() for record in caplog.records]
    assert "mcp__late" not in partly
    assert "mcp__late" in wholly


@pytest.mark.req("CAT-73")
@pytest.mark.parametrize("broken", [{"allow": "Read"}, {"deny": ["x"]}, {"allow": (3,)}])
def test_a_filter_that_cannot_be_read_hides_everything(
    broken: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        seen = Visibility([ToolFilter(**broken)])  # type: ignore[arg-type]  # what the test is about
    assert not any(seen.sees(name) for name in NAMES)
    assert any(record.levelno == logging.ERROR for record in caplog.records)


@pytest.mark.req("CAT-74")
async def test_what_is_visible_is_fixed_when_the_request_is_built() -> None:
    look, peek = says("Look"), says("Peek")
    answers: list[Mapping[str, object]] = [
        {"calls": [call("Look"), call("Peek")]},
        {"calls": [call("Peek")]},
        {"text": "done"},
    ]
    flow = Flow([look, peek], answers)
    state = flow.agent.conversation

    async def hide(*args: object) -> str:
        state.visibility = Visibility([ToolFilter(deny=("Peek",))])
        return "hidden from now on"

    look._body = hide  # the first call of the turn changes the filter
    await flow.run()
    assert [result.is_error for result in flow.results] == [False, False, True]
