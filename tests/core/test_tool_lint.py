"""What providers make of tools is told in a fixed order, the same that a session does."""

import pytest

from hilt.core.dialect_table import PROFILES
from hilt.core.tool import ToolSpec
from hilt.core.tool_lint import LintedTool, lint_tools
from hilt.engine.wire import WireList


def linted(name: str, text: str, schema: dict[str, object], **more: object) -> LintedTool:
    return LintedTool(server="s", own_name=name, spec=ToolSpec(f"mcp__s__{name}", text, schema), **more)  # type: ignore[arg-type]  # the fields of LintedTool


TOOLS = [
    linted("fine", "Does it.", {"type": "object", "properties": {"a": {"type": "string"}}}),
    linted("told", "Does it.", {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}),
    linted("lost", "Does it.", {"anyOf": [{"type": "string"}]}),
    linted("a/b", " ", {"type": "object", "properties": {}}),
    linted(
        "odd",
        "x",
        {"type": "object", "properties": {}},
        repaired=("characters that are not shown were removed from the description", "something else"),
        hints={"readOnlyHint": True, "destructiveHint": True},
    ),
]


@pytest.mark.req("PRV-31", "PRV-34")
def test_findings_have_their_parts_and_a_fixed_order() -> None:
    found = lint_tools(TOOLS, ["generic", "gemini"])
    assert found == lint_tools(TOOLS[::-1], ["gemini", "generic"])
    told = [(one.tool, one.provider, one.pointer, one.rule, one.kind) for one in found]
    assert ("told", "generic", "/properties/a/maxLength", "told", "told") in told
    assert ("lost", "gemini", "/type", "root", "withheld") in told
    assert ("a/b", "*", "", "no-description", "told") in told
    assert ("odd", "*", "", "hints", "told") in told
    assert ("odd", "*", "", "hidden-characters", "repaired") in told
    assert ("odd", "*", "", "listing", "repaired") in told
    assert not [one for one in found if one.tool == "fine"]
    assert found[0].to_json()["server"] == "s"


@pytest.mark.req("PRV-32", "PRV-26", "PRV-07")
@pytest.mark.parametrize("profile", PROFILES)
def test_a_session_withholds_what_lint_lists_and_nothing_else(profile: str, caplog: pytest.LogCaptureFixture) -> None:
    specs = [tool.spec for tool in TOOLS]
    names = WireList(profile)
    sent = names.specs(specs)
    kept = {names.catalog_names.get(spec.name, spec.name) for spec in sent}
    withheld = {f"mcp__s__{one.tool}" for one in lint_tools(TOOLS, [profile]) if one.kind == "withheld"}
    assert {spec.name for spec in specs} - kept == withheld == {"mcp__s__lost"}
    assert names.specs(specs) is sent
    [record] = caplog.records
    assert "tool=mcp__s__lost" in record.getMessage()
    assert f"profile={profile} rule=root pointer=/type" in record.getMessage()
