from dataclasses import replace

import pytest

from hilt.core.errors import ConfigError
from hilt.core.mcp import (
    McpServerSpec,
    catalog_name,
    check_server_name,
    merge_servers,
    parse_server_flag,
    token_variable,
)
from hilt.core.version import HANDSHAKE_REVISIONS, STATELESS_REVISIONS


@pytest.mark.req("MCP-01")
@pytest.mark.parametrize("name", ["a", "git-hub", "A_b9", "x" * 64, "-a", "_a"])
def test_a_server_name_of_the_allowed_characters_passes(name: str) -> None:
    check_server_name(name)


@pytest.mark.req("MCP-01")
@pytest.mark.parametrize("name", ["", "a b", "a.b", "ä", "x" * 65, "a\n", "a/b"])
def test_any_other_server_name_is_refused_and_quoted(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_server_name(name)
    assert repr(name[:80]) in str(caught.value)


@pytest.mark.req("MCP-02")
@pytest.mark.parametrize("name", ["a__b", "a-_b", "a--b", "a_", "a-"])
def test_a_name_that_would_blur_catalog_names_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="side by side"):
        check_server_name(name)


@pytest.mark.req("MCP-03")
def test_two_names_of_one_source_that_differ_in_case_or_dash_are_refused_by_name() -> None:
    specs = [McpServerSpec(name="My-Files"), McpServerSpec(name="my_files")]
    with pytest.raises(ConfigError, match="'My-Files' and 'my_files'"):
        merge_servers(specs)


@pytest.mark.req("MCP-04")
def test_the_first_source_wins_a_name_and_the_hidden_entries_are_told() -> None:
    user = McpServerSpec(name="git", url="https://u.example", origin="user", source="user file")
    project = replace(user, name="Git", url="https://p.example", origin="project", source="project file")
    flag = replace(user, url="https://f.example", origin="flag", source="--mcp-server")
    other = replace(user, name="other")
    chosen = merge_servers([user, other, project, flag])
    assert [(one.spec.url, [h.url for h in one.hidden]) for one in chosen] == [
        ("https://f.example", ["https://p.example", "https://u.example"]),
        ("https://u.example", []),
    ]


@pytest.mark.req("MCP-05")
def test_a_catalog_name_has_the_folded_server_and_the_tool_as_the_server_wrote_it() -> None:
    assert catalog_name("git-hub", "List.issues/now") == "mcp__git_hub__List.issues/now"


@pytest.mark.req("MCP-08")
def test_the_server_flag_is_cut_at_the_first_equals_sign() -> None:
    spec = parse_server_flag("api=https://h.example/mcp?a=b")
    assert (spec.name, spec.url, spec.transport, spec.origin) == (
        "api",
        "https://h.example/mcp?a=b",
        "http",
        "flag",
    )


@pytest.mark.parametrize("text", ["api", "api=", "=https://h.example", "a b=https://h.example"])
def test_a_malformed_server_flag_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--mcp-server"):
        parse_server_flag(text)


@pytest.mark.req("MCP-09", "CLI-60")
def test_the_token_variable_is_the_folded_name_in_capitals() -> None:
    assert token_variable("git-hub") == "MCP_GIT_HUB_TOKEN"


def test_the_revisions_are_those_that_the_sdk_speaks() -> None:
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

    assert HANDSHAKE_REVISIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert STATELESS_REVISIONS == MODERN_PROTOCOL_VERSIONS
