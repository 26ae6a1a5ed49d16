import pytest

from hilt.core.mcp_text import clean_schema, clean_text


@pytest.mark.req("MCP-63")
def test_what_nobody_sees_is_taken_out_of_a_text() -> None:
    assert clean_text("a\x00\x1b[1m\r\nb\tc\u202eé\U000e0041\u200f\x85") == "a[1m\nb\tcé"
    assert clean_text("plain") == "plain"


@pytest.mark.req("MCP-63")
def test_names_and_data_of_a_schema_are_left_alone() -> None:
    hidden = "x\u202ey"
    schema = {
        "type": "object",
        "description": hidden,
        "properties": {
            "description": {"type": "string", "title": hidden, "default": hidden, "enum": [hidden]},
            hidden: True,
        },
        "anyOf": [{"description": hidden}],
        "title": 3,
    }
    assert clean_schema(schema) == {
        "type": "object",
        "description": "xy",
        "properties": {
            "description": {"type": "string", "title": "xy", "default": hidden, "enum": [hidden]},
            hidden: True,
        },
        "anyOf": [{"description": "xy"}],
        "title": 3,
    }
