import pytest

from hilt.core.errors import ConfigError
from hilt.core.mcp import McpServerSpec
from hilt.core.mcp_url import (
    allow_insecure,
    check_secret_url,
    check_url,
    has_secret_header,
    is_loopback,
    may_carry_secret,
    origin_of,
    shown_url,
)


def _server(url: str, name: str = "api") -> McpServerSpec:
    return McpServerSpec(name=name, url=url, source="mcp.toml")


@pytest.mark.req("MCP-10")
@pytest.mark.parametrize(
    "url",
    [
        "https://h.example/mcp",
        "http://localhost:80/mcp",
        "http://LOCALHOST/mcp",
        "http://127.0.0.1/",
        "http://127.9.8.7:1/",
        "http://[::1]:8080/mcp",
        "HTTPS://h.example",
    ],
)
def test_a_token_may_go_over_https_or_to_this_machine(url: str) -> None:
    check_secret_url(_server(url), secret=True)


@pytest.mark.req("MCP-10")
@pytest.mark.parametrize(
    "url",
    [
        "http://h.example",
        "http://10.0.0.1",
        "http://localhost.example",
        "http://127.0.0.1.example",
        "http://[::2]/",
        "http://0.0.0.0/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://[::ffff:127.0.0.1]/",
    ],
)
def test_a_token_over_plain_http_elsewhere_is_refused_by_server_name(url: str) -> None:
    with pytest.raises(ConfigError, match="'api'"):
        check_secret_url(_server(url), secret=True)
    check_secret_url(_server(url), secret=False)


@pytest.mark.req("MCP-11")
@pytest.mark.parametrize(
    "headers", [{"authorization": "x"}, {"Cookie": "a=b"}, {"Proxy-Authorization": "x"}, {"X-Key": "${KEY}"}]
)
def test_a_header_that_holds_a_secret_counts_as_a_token(headers: dict[str, str]) -> None:
    assert has_secret_header(headers)
    assert not has_secret_header({"X-Team": "blue"})


@pytest.mark.req("MCP-12")
def test_the_insecure_flag_lifts_the_rule_for_that_server_alone() -> None:
    far = [_server("http://h.example", "a"), _server("http://h.example", "b")]
    lifted = allow_insecure(far, ["b"])
    assert [may_carry_secret(spec) for spec in lifted] == [False, True]


@pytest.mark.req("MCP-13", "CLI-21")
@pytest.mark.parametrize("url", ["https://h.example", "http://localhost/", "http://127.0.0.1", "http://[::1]/"])
def test_the_insecure_flag_for_a_server_that_needs_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="'api' is not reached over plain http"):
        allow_insecure([_server(url)], ["api"])


@pytest.mark.req("MCP-13", "CLI-21")
@pytest.mark.parametrize("name", ["other", "API"])
def test_the_insecure_flag_for_an_unregistered_server_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"no MCP server '{name}'"):
        allow_insecure([_server("http://h.example")], [name])


@pytest.mark.req("MCP-14")
@pytest.mark.parametrize(
    "url",
    [
        "",
        "h.example/mcp",
        "/mcp",
        "ftp://h.example",
        "http://",
        "http://:80/",
        "http://h.example:99999/",
        "http://h.example:0/",
        "http://h ex/",
        "http://h.example\\@evil.example/",
        "http://[::1/",
        "https://user:hunter2@h.example/",
        "https://h.example/#hunter2",
        "https://user:hunter2@/?q=hunter2",
    ],
)
def test_a_url_that_is_not_plain_is_refused_without_query_or_user(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_url(_server(url))
    assert "hunter2" not in str(caught.value)
    assert caught.value.key == "url"


@pytest.mark.req("MCP-14")
def test_a_url_is_shown_without_query_fragment_and_user() -> None:
    assert shown_url("https://u:p@h.example:1/a?b=c#d") == "https://h.example:1/a"
    assert shown_url("http://[::1") == "(a malformed URL)"
    assert shown_url("h.example?x") == "h.example"


def test_an_origin_has_the_default_port() -> None:
    assert origin_of("HTTP://H.example/x") == ("http", "h.example", 80)
    assert origin_of("https://h.example") == ("https", "h.example", 443)
    assert origin_of("nothing") is None
    assert not is_loopback("nothing")
