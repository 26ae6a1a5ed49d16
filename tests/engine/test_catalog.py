"""The catalog: who is in it, who wins, what is listed (catalog.md sections 3 to 5)."""

import logging
import time

import pytest

from hilt.core.errors import CatalogFault, DuplicateToolError, HiltError, InvalidSpecError
from hilt.core.session import Mode
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.engine.catalog import Catalog, Description
from hilt.ports.tool import Environment, Tool


class Named:
    """A tool of a name."""

    def __init__(self, name: str, *, read_only: bool = True) -> None:
        self.spec = ToolSpec(name, f"Full text of {name}.", {"type": "object", "properties": {"a": {"type": "string"}}})
        self.read_only = read_only

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Answer with the name."""
        return ToolResult.text(call.id, self.spec.name)


class Short(Named):
    """A tool with a short form."""

    def advertised(self) -> ToolSpec:
        """Return the short form."""
        return ToolSpec(self.spec.name, "Short.")


def catalog_of(*tools: Tool) -> Catalog:
    """Return a catalog with these tools."""
    catalog = Catalog()
    for tool in tools:
        catalog.register(tool)
    return catalog


@pytest.mark.req("CAT-30")
def test_a_new_catalog_is_empty() -> None:
    catalog = Catalog()
    assert list(catalog.tools()) == []
    assert catalog.lookup("Read") is None


@pytest.mark.req("CAT-31")
def test_a_taken_name_is_refused_and_the_catalog_is_unchanged() -> None:
    first = Named("Look")
    catalog = catalog_of(first)
    with pytest.raises(DuplicateToolError, match="Look"):
        catalog.register(Named("Look"))
    assert catalog.lookup("Look") is first
    assert len(catalog.tools()) == 1


@pytest.mark.req("CAT-32")
def test_start_up_code_gets_a_fault_that_no_handler_for_expected_errors_catches() -> None:
    catalog = catalog_of(Named("Look"))
    with pytest.raises(CatalogFault) as caught:
        catalog.must_register(Named("Look"))
    assert not isinstance(caught.value, HiltError)
    catalog.must_register(Named("Other"))
    assert catalog.lookup("Other") is not None


@pytest.mark.req("CAT-33")
def test_a_family_skips_taken_names_and_goes_on() -> None:
    first = Named("Look")
    catalog = catalog_of(first)
    skipped = catalog.register_family("mcp", [Named("b"), Named("Look"), Named("a"), Named("b")])
    assert skipped == ["Look", "b"]
    assert catalog.lookup("Look") is first
    assert [tool.spec.name for tool in catalog.tools()] == ["Look", "a", "b"]


@pytest.mark.req("CAT-34")
def test_all_skipped_names_are_told_in_one_line_with_loser_and_winner(caplog: pytest.LogCaptureFixture) -> None:
    catalog = catalog_of(Named("Look"), Named("See"))
    catalog.register_family("memory", [Named("Look")])
    catalog.register_family("skill", [Named("See"), Named("New")])
    with caplog.at_level(logging.WARNING):
        catalog.report_skipped()
        catalog.report_skipped()
    (line,) = [record.getMessage() for record in caplog.records]
    assert "Look: memory loses to core" in line
    assert "See: skill loses to core" in line


@pytest.mark.req("CAT-35")
def test_a_look_up_is_exact_and_minds_case() -> None:
    look = Named("Look")
    catalog = catalog_of(look)
    assert catalog.lookup("Look") is look
    assert catalog.lookup("look") is None
    assert catalog.lookup("Look ") is None


@pytest.mark.req("CAT-36")
def test_tools_come_by_name_in_code_point_order() -> None:
    catalog = catalog_of(*(Named(name) for name in ("b", "a", "B", "é", "A")))
    assert [tool.spec.name for tool in catalog.tools()] == ["A", "B", "a", "b", "é"]


@pytest.mark.req("CAT-37", "CAT-38", "CAT-60")
def test_plan_mode_lists_only_tools_that_read() -> None:
    catalog = catalog_of(Named("Look"), Named("Change", read_only=False))
    assert [tool.spec.name for tool in catalog.available(Mode.PLAN)] == ["Look"]
    assert [spec.name for spec in catalog.specs(Mode.PLAN)] == ["Look"]
    for mode in (Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.AUTO):
        assert [spec.name for spec in catalog.specs(mode)] == ["Change", "Look"]


@pytest.mark.req("CAT-39", "CAT-23", "SRC-01")
def test_the_short_form_is_listed_until_the_tool_is_hydrated() -> None:
    short, full = Short("Short"), Named("Full")
    catalog = catalog_of(short, full)
    assert list(catalog.advertised_specs()) == [full.spec, ToolSpec("Short", "Short.")]
    assert list(catalog.advertised_specs(hydrated={"Short"})) == [full.spec, short.spec]
    assert list(catalog.advertised_specs(Mode.PLAN, {"Short"})) == [full.spec, short.spec]


@pytest.mark.req("CAT-40")
def test_a_catalog_only_grows_and_a_listing_does_not_change_afterwards() -> None:
    catalog = catalog_of(Named("a"))
    before = catalog.specs()
    catalog.register(Named("b"))
    assert [spec.name for spec in before] == ["a"]
    assert not any(hasattr(catalog, name) for name in ("remove", "replace", "unregister", "clear", "pop"))
    with pytest.raises((TypeError, AttributeError)):
        del catalog.names["a"]  # type: ignore[attr-defined]  # a view takes no deletion


@pytest.mark.req("CAT-41")
def test_a_withdrawn_tool_is_found_but_not_listed() -> None:
    tool = Named("Look")
    catalog = catalog_of(tool, Named("See"))
    catalog.withdraw("Look", "its server is gone")
    assert catalog.lookup("Look") is tool
    assert [spec.name for spec in catalog.specs()] == ["See"]
    assert catalog.withdrawn("Look") == "its server is gone"
    with pytest.raises(LookupError, match="Nope"):
        catalog.withdraw("Nope", "x")


@pytest.mark.req("CAT-42")
async def test_a_listing_under_way_is_the_state_before_or_after_a_registration() -> None:
    catalog = catalog_of(Named("a"), Named("b"))
    seen = []
    for tool in catalog.tools():
        seen.append(tool.spec.name)
        if len(seen) == 1:
            catalog.register(Named("aa"))
    assert seen == ["a", "b"]
    assert [tool.spec.name for tool in catalog.tools()] == ["a", "aa", "b"]


@pytest.mark.req("CAT-44")
def test_describe_tells_family_source_flag_and_standing() -> None:
    catalog = Catalog()
    catalog.register(Named("mcp__git__log"), family="mcp", source="git")
    assert catalog.describe("mcp__git__log") == Description(
        name="mcp__git__log", family="mcp", source="git", read_only=True, hidden=False, withdrawn=None
    )
    catalog.withdraw("mcp__git__log", "gone")
    found = catalog.describe("mcp__git__log", hidden=True)
    assert found is not None
    assert (found.hidden, found.withdrawn) == (True, "gone")
    assert catalog.describe("Nope") is None


@pytest.mark.req("CAT-03")
def test_names_of_mcp_servers_are_refused_outside_their_families() -> None:
    catalog = Catalog()
    with pytest.raises(InvalidSpecError, match="mcp__"):
        catalog.register(Named("mcp__a__b"))
    with pytest.raises(InvalidSpecError, match="mcp__"):
        catalog.register_family("skill", [Named("mcp__a__b")])
    for family in ("mcp", "client-mcp"):
        catalog.register_family(family, [Named(f"mcp__{family}__b")])
    assert len(catalog.tools()) == 2


@pytest.mark.req("CAT-20", "CAT-21")
@pytest.mark.parametrize("missing", ["spec", "read_only", "execute"])
def test_an_object_that_does_not_state_all_three_is_refused(missing: str) -> None:
    class Plain:
        pass

    tool = Plain()
    members: dict[str, object] = {"spec": ToolSpec("Odd"), "read_only": True, "execute": Named("Odd").execute}
    for name, value in members.items():
        if name != missing:
            setattr(tool, name, value)
    with pytest.raises(InvalidSpecError, match=missing):
        Catalog().register(tool)  # type: ignore[arg-type]  # what the test is about
    setattr(tool, missing, members[missing])
    Catalog().register(tool)  # type: ignore[arg-type]  # the three are set by name


@pytest.mark.req("CAT-21")
def test_a_flag_that_is_no_boolean_states_nothing() -> None:
    tool = Named("Odd")
    tool.read_only = "no"  # type: ignore[assignment]  # what the test is about
    with pytest.raises(InvalidSpecError, match="read_only"):
        Catalog().register(tool)


def test_a_copy_grows_on_its_own() -> None:
    catalog = catalog_of(Named("a"))
    copy = catalog.copy()
    copy.register(Named("b"))
    assert len(catalog.tools()) == 1
    assert len(copy.tools()) == 2


def test_two_thousand_tools_are_listed_in_a_moment() -> None:
    catalog = catalog_of(*(Named(f"t{n:04}") for n in range(2000)))
    catalog.specs()
    begin = time.perf_counter()
    assert len(catalog.specs()) == 2000
    assert time.perf_counter() - begin < 0.5
