import pytest

from hilt.core.errors import InvalidSpecError
from hilt.core.mcp_header import header_arguments, header_values

TEXT = {"type": "string", "x-mcp-header": "Region"}


@pytest.mark.req("MCP-45")
def test_annotated_arguments_are_found_along_properties_and_repeated() -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": TEXT,
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "on": {"type": "boolean", "x-mcp-header": "On", "default": {"x-mcp-header": 5}},
            "free": True,
        },
    }
    wanted = header_arguments(schema)
    assert wanted == {("region",): "Mcp-Param-Region", ("deep", "n"): "Mcp-Param-N", ("on",): "Mcp-Param-On"}
    assert header_values(wanted, {"region": "eu", "deep": {"n": 7}, "on": False}) == {
        "Mcp-Param-Region": "eu",
        "Mcp-Param-N": "7",
        "Mcp-Param-On": "false",
    }
    assert header_values(wanted, {"region": None, "deep": 3, "on": []}) == {}
    assert header_values(wanted, {"on": True}) == {"Mcp-Param-On": "true"}


@pytest.mark.req("MCP-58")
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"x-mcp-header": "A"}, "no argument"),
        ({"anyOf": [{"properties": {"a": TEXT}}]}, "no argument"),
        ({"$defs": {"d": TEXT}}, "no argument"),
        ({"additionalProperties": TEXT}, "no argument"),
        ({"properties": {"a": {"items": {"properties": {"b": TEXT}}}}}, "no argument"),
        ({"properties": {"a": {**TEXT, "x-mcp-header": "a b"}}}, "no header name"),
        ({"properties": {"a": {**TEXT, "x-mcp-header": ""}}}, "no header name"),
        ({"properties": {"a": {**TEXT, "x-mcp-header": 5}}}, "no header name"),
        ({"properties": {"a": {**TEXT, "type": "number"}}}, "needs the type"),
        ({"properties": {"a": {"x-mcp-header": "A"}}}, "needs the type"),
        ({"properties": {"a": TEXT, "b": {**TEXT, "x-mcp-header": "REGION"}}}, "twice"),
    ],
)
def test_a_wrong_annotation_is_refused(schema: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidSpecError, match=reason):
        header_arguments(schema)


def test_the_rule_agrees_with_the_sdk_s() -> None:
    from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

    good = {"properties": {"a": TEXT, "b": {"properties": {"c": {"type": "boolean", "x-mcp-header": "C"}}}}}
    assert find_invalid_x_mcp_header(good) is None
    found = header_arguments(good)
    assert {path: name.removeprefix("Mcp-Param-") for path, name in found.items()} == x_mcp_header_map(good)
