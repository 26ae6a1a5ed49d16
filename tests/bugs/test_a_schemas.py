"""Odd schemas and names of servers: every tool reaches the model in a form that its provider takes."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import jsonschema_rs
import pytest

from hilt.core.dialect_refs import resolved
from hilt.core.dialect_table import PROFILES
from hilt.core.dialect_tool import fit
from hilt.core.errors import ToolError
from hilt.core.mcp import McpServerSpec
from hilt.core.schema import ArgumentCheck
from hilt.core.tool import ToolSpec
from hilt.engine.wire import WireList
from hilt.mcp.listing import read_tools

INPUTS = Path(__file__).parent / "inputs"


def listed(case: str, server: str = "books") -> dict[str, ToolSpec]:
    """Return the tools of a captured answer by the server's own names."""
    entries: list[object] = json.loads((INPUTS / f"{case}.json").read_text(encoding="utf-8"))
    listing = read_tools(entries, McpServerSpec(name=server, transport="stdio", command="x"))
    return {tool.name: tool.spec for tool in listing.tools}


def wire(case: str, profile: str) -> dict[str, ToolSpec]:
    """Return the tools as a provider is sent them, by the server's own names."""
    out = {}
    for name, spec in listed(case).items():
        fitted = fit(spec, profile)
        assert fitted.spec is not None
        jsonschema_rs.meta.validate(fitted.spec.schema)
        out[name] = fitted.spec
    return out


def references(node: object) -> list[str]:
    if isinstance(node, Mapping):
        own = [value for key, value in node.items() if key == "$ref" and isinstance(value, str)]
        return own + [reference for value in node.values() for reference in references(value)]
    return [reference for value in node for reference in references(value)] if isinstance(node, list) else []


@pytest.mark.parametrize("profile", PROFILES)
def test_a1_a_boolean_schema_costs_no_tool(profile: str) -> None:
    tools = wire("a1_boolean", profile)
    assert len(tools) == 3
    properties = tools["any_value"].schema["properties"]
    assert isinstance(properties, dict)
    assert "unused" not in properties
    spec = listed("a1_boolean")["any_value"]
    arguments: dict[str, object] = {"payload": [1]}
    assert ArgumentCheck.of(spec.name, spec.schema_json, strict_keys=False).check(arguments).arguments == arguments


@pytest.mark.parametrize("profile", PROFILES)
def test_a2_every_reference_that_is_sent_resolves(profile: str) -> None:
    for tool in wire("a2_defs", profile).values():
        schema = tool.schema
        assert all(resolved(schema, reference) is not None for reference in references(schema))
    for spec in listed("a2_defs").values():
        if "slot" not in spec.schema_json:
            continue
        check = ArgumentCheck.of(spec.name, spec.schema_json, strict_keys=False)
        with pytest.raises(ToolError, match="hall"):
            check.check({"slot": {"day": "2024-05-06", "hall": "east"}})


@pytest.mark.parametrize("profile", PROFILES)
def test_a3_a_schema_that_contains_itself_is_plain_json_of_bounded_size(profile: str) -> None:
    for tool in wire("a3_recursive", profile).values():
        assert len(json.dumps(tool.schema)) < 20_000


@pytest.mark.parametrize("case", ["a4_names", "a5_collide"])
@pytest.mark.parametrize("profile", PROFILES)
def test_a4_a5_every_name_is_taken_distinct_and_the_same_in_any_order(profile: str, case: str) -> None:
    specs = list(listed(case).values())
    names = WireList(profile)
    sent = [tool.name for tool in names.specs(specs)]
    assert len(set(sent)) == len(specs)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}", name) for name in sent)
    again = [tool.name for tool in WireList(profile).specs(specs[::-1])]
    assert again == sent[::-1]
    back = [names.catalog_names.get(name, name) for name in sent]
    assert back == [spec.name for spec in specs]


@pytest.mark.parametrize("profile", PROFILES)
def test_a6_no_union_stands_at_the_root_and_its_type_is_object(profile: str) -> None:
    tools = wire("a6_root_combinators", profile)
    assert "plain" in tools
    assert len(tools) == 4
    for tool in tools.values():
        schema = tool.schema
        assert schema["type"] == "object"
        assert not schema.keys() & {"oneOf", "anyOf", "allOf"}
