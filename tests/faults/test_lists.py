"""Entries of section 2: what is listed."""

from pathlib import Path

import pytest

from tests.faults.raw import at, names, opened
from tests.faults.test_start import EVERY_WAY


@EVERY_WAY
def test_lying_capabilities_has_tools_alone(transport: str, era: str, tmp_path: Path) -> None:
    with opened("lying-capabilities", tmp_path, transport=transport, era=era) as session:
        assert len(names(session.request("tools/list"))) == 5
        for method in ("resources/list", "prompts/list", "resources/templates/list"):
            assert at(session.request(method), "error", "code") == -32601


@EVERY_WAY
def test_bad_tool_lists_sixteen_good_ones_and_four_bad_ones(transport: str, era: str, tmp_path: Path) -> None:
    with opened("bad-tool", tmp_path, transport=transport, era=era) as session:
        found = names(session.request("tools/list"))
        assert (len(found), found.count(None), "control\x07name" in found) == (20, 1, True)


@EVERY_WAY
def test_endless_pages_have_a_new_cursor_each(transport: str, era: str, tmp_path: Path) -> None:
    with opened("endless-pages", tmp_path, transport=transport, era=era) as session:
        page = session.request("tools/list")
        cursors = []
        for _ in range(3):
            cursors.append(at(page, "result", "nextCursor"))
            page = session.request("tools/list", {"cursor": cursors[-1]})
        assert cursors == ["page-1", "page-2", "page-3"]
        assert names(page) == ["tool_3"]


def test_a_stuck_cursor_never_changes(tmp_path: Path) -> None:
    with opened("stuck-cursor", tmp_path) as session:
        for params in ({}, {"cursor": "same"}, {"cursor": "same"}):
            page = session.request("tools/list", dict(params))
            assert at(page, "result", "nextCursor") == "same"
        assert names(page) == ["tool_1"]


def test_an_empty_cursor_has_a_page_behind_it(tmp_path: Path) -> None:
    with opened("empty-cursor", tmp_path) as session:
        assert at(session.request("tools/list"), "result", "nextCursor") == ""
        assert at(session.request("tools/list", {"cursor": ""}), "result", "tools", 0, "name") == "tool_1"


@EVERY_WAY
def test_a_big_list_has_as_many_tools_as_asked_for(transport: str, era: str, tmp_path: Path) -> None:
    with opened("big-list", tmp_path, transport=transport, era=era, count=2000) as session:
        assert len(set(names(session.request("tools/list")))) == 2000


def test_a_big_list_has_a_hundred_thousand_tools_by_itself(tmp_path: Path) -> None:
    with opened("big-list", tmp_path) as session:
        assert len(names(session.request("tools/list"))) == 100_000


@EVERY_WAY
def test_a_schema_bomb_is_whole_json_of_four_dangers(transport: str, era: str, tmp_path: Path) -> None:
    with opened("schema-bomb", tmp_path, transport=transport, era=era, levels=50) as session:
        answer = session.request("tools/list")
        assert names(answer)[5:] == ["contains_itself", "grows", "deep", "elsewhere"]
        inner, levels = at(answer, "result", "tools", 7, "inputSchema"), 0
        while isinstance(inner, dict) and "properties" in inner:
            inner, levels = inner["properties"]["a"], levels + 1
        assert levels == 50
        where = at(answer, "result", "tools", 8, "inputSchema", "properties", "a", "$ref")
        assert str(where).startswith(str(session.log("canary")[0]["address"]))


def test_a_schema_bomb_goes_five_thousand_levels_deep(tmp_path: Path) -> None:
    with opened("schema-bomb", tmp_path) as session, pytest.raises(RecursionError):
        session.request("tools/list")
