"""Kind j, case 5, the servers' half: a server whose name could be read as another's tool is refused at start."""

import tomllib

import pytest

from hilt.core.errors import ConfigError
from hilt.core.mcp import McpServerSpec, catalog_name, merge_servers, parse_server_flag
from hilt.core.mcp_entry import parse_servers

_FILE = """
[[servers]]
name = "a"
command = "x"
[[servers]]
name = "a__b"
command = "y"
"""


@pytest.mark.req("MCP-02", "MCP-03")
def test_j5_the_second_of_two_servers_that_could_give_one_name_is_refused() -> None:
    assert catalog_name("a", "b__c") == catalog_name("a__b", "c")
    with pytest.raises(ConfigError, match="'a__b'"):
        parse_server_flag("a__b=https://h.example")
    with pytest.raises(ConfigError, match="'a__b'"):
        parse_servers(tomllib.loads(_FILE), source="mcp.toml", origin="user")
    with pytest.raises(ConfigError, match="'a-b' and 'A_b'"):
        merge_servers([McpServerSpec(name="a-b"), McpServerSpec(name="A_b")])
