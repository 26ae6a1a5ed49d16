import tomllib
from dataclasses import replace

import pytest

from hilt.core.errors import ConfigError
from hilt.core.mcp import ChosenServer, McpServerSpec
from hilt.core.mcp_entry import (
    MissingVariableError,
    admitted,
    entry_digest,
    expand,
    parse_entry,
    parse_servers,
    prepare_server,
    secret_values,
)

EXAMPLE = """
[[servers]]
name = "files"
command = "npx"
args = ["-y", "@example/server-files", "."]
env = {ROOT = "${HOME}/data"}
[[servers]]
name = "api"
url = "https://mcp.example.com/api"
transport = "http"
headers = {Authorization = "Bearer ${API_TOKEN}"}
connect_timeout_s = 30
required = false
tools = {allow = ["a*"], deny = ["ab"]}
pass_headers = ["traceparent"]
"""


def _parse(text: str) -> list[McpServerSpec]:
    return parse_servers(tomllib.loads(text), source=".hilt/mcp.toml", origin="project")


@pytest.mark.req("MCP-18", "CLI-59")
def test_the_example_of_the_specification_is_read() -> None:
    files, api = _parse(EXAMPLE)
    assert files == McpServerSpec(
        name="files",
        transport="stdio",
        command="npx",
        args=("-y", "@example/server-files", "."),
        env={"ROOT": "${HOME}/data"},
        origin="project",
        source=".hilt/mcp.toml",
    )
    assert api == McpServerSpec(
        name="api",
        url="https://mcp.example.com/api",
        headers={"Authorization": "Bearer ${API_TOKEN}"},
        allow=("a*",),
        deny=("ab",),
        pass_headers=("traceparent",),
        origin="project",
        source=".hilt/mcp.toml",
    )


@pytest.mark.req("MCP-18", "CLI-59")
@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ('url = "https://h"\nurls = "x"', "servers[0].urls"),
        ('url = "https://h"\ncommand = "x"', "servers[0].command"),
        ("", "servers[0]"),
        ('url = ""', "servers[0].url"),
        ('command = ""', "servers[0].command"),
        ("url = 3", "servers[0].url"),
        ('url = "https://h"\nargs = []', "servers[0].args"),
        ('url = "https://h"\nenv = {}', "servers[0].env"),
        ('command = "x"\nheaders = {}', "servers[0].headers"),
        ('command = "x"\ntransport = "http"', "servers[0].transport"),
        ('url = "https://h"\ntransport = "stdio"', "servers[0].transport"),
        ('url = "https://h"\ntransport = "ws"', "servers[0].transport"),
        ('url = "https://h"\nheaders = {A = 1}', "servers[0].headers.A"),
        ('url = "https://h"\nheaders = []', "servers[0].headers"),
        ('command = "x"\nargs = [1]', "servers[0].args"),
        ('command = "x"\nargs = "y"', "servers[0].args"),
        ('command = "x\\u0000"', "servers[0].command"),
        ('command = "x"\nenabled = 1', "servers[0].enabled"),
        ('command = "x"\nprotocol = "old"', "servers[0].protocol"),
        ('command = "x"\nconnect_timeout_s = 0', "servers[0].connect_timeout_s"),
        ('command = "x"\nidle_timeout_s = true', "servers[0].idle_timeout_s"),
        ('command = "x"\ncall_timeout_s = inf', "servers[0].call_timeout_s"),
        ('command = "x"\ntools = []', "servers[0].tools"),
        ('command = "x"\ntools = {only = []}', "servers[0].tools.only"),
        ('command = "x"\ntools = {allow = "a"}', "servers[0].tools.allow"),
    ],
)
def test_a_wrong_entry_is_refused_with_file_and_key(entry: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _parse(f'[[servers]]\nname = "x"\n{entry}')
    assert (caught.value.source, caught.value.key) == (".hilt/mcp.toml", key)


@pytest.mark.req("MCP-18")
@pytest.mark.parametrize(
    "text",
    [
        "[[servers]]\nurl='https://h'",
        "server = []",
        "servers = 3",
        "servers = [1]",
        "[[servers]]\nname='a b'\nurl='https://h'",
    ],
)
def test_a_document_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"mcp\.toml"):
        _parse(text)


@pytest.mark.req("MCP-03", "CLI-59")
def test_a_name_twice_in_one_file_is_refused() -> None:
    with pytest.raises(ConfigError, match="'a-b' and 'A_b'"):
        _parse("[[servers]]\nname='a-b'\nurl='https://h'\n[[servers]]\nname='A_b'\ncommand='x'")


@pytest.mark.req("MCP-19", "CLI-55")
def test_variables_are_filled_once_and_defaults_serve_absent_and_empty_ones() -> None:
    variables = {"A": "${B}", "B": "no", "E": ""}
    assert expand("${A}-${E}-${E:-d}-${N:-x y}-${N:-}-$A-${9}-${", variables, field="url") == (
        "${B}--d-x y--$A-${9}-${"
    )


@pytest.mark.req("MCP-19", "CLI-55")
def test_a_missing_variable_is_told_with_its_field() -> None:
    spec = McpServerSpec(name="x", transport="stdio", command="c", args=("a", "${NOPE}"))
    with pytest.raises(MissingVariableError) as caught:
        prepare_server(ChosenServer(spec=spec), {})
    assert (caught.value.variable, caught.value.field) == ("NOPE", "args[1]")


@pytest.mark.req("MCP-19")
def test_command_args_env_url_and_headers_are_filled() -> None:
    variables = {"V": "v"}
    stdio = McpServerSpec(name="x", transport="stdio", command="${V}", args=("${V}",), env={"${V}": "${V}"}, cwd="${V}")
    ready = prepare_server(ChosenServer(spec=stdio), variables)
    assert (ready.command, ready.args, ready.env, ready.cwd) == ("v", ("v",), {"${V}": "v"}, "${V}")
    far = McpServerSpec(name="x", url="https://${V}.example", headers={"X": "${V}"})
    ready = prepare_server(ChosenServer(spec=far), variables)
    assert (ready.url, ready.headers) == ("https://v.example", {"X": "v"})


@pytest.mark.req("MCP-09", "CLI-60")
def test_a_token_goes_to_its_own_server_as_bearer() -> None:
    variables = {"MCP_A_B_TOKEN": "t0ken", "MCP_C_TOKEN": ""}
    ready = prepare_server(ChosenServer(spec=McpServerSpec(name="a-b", url="https://h.example")), variables)
    assert ready.headers == {"Authorization": "Bearer t0ken"}
    for name in ("c", "d"):
        ready = prepare_server(ChosenServer(spec=McpServerSpec(name=name, url="https://h.example")), variables)
        assert ready.headers == {}


@pytest.mark.req("MCP-10", "MCP-11")
def test_a_secret_for_plain_http_elsewhere_stops_the_start() -> None:
    far = McpServerSpec(name="a", url="http://h.example")
    with pytest.raises(ConfigError, match="'a'"):
        prepare_server(ChosenServer(spec=far), {"MCP_A_TOKEN": "t"})
    with pytest.raises(ConfigError, match="'a'"):
        prepare_server(ChosenServer(spec=replace(far, headers={"X": "${V:-d}"})), {})
    assert prepare_server(ChosenServer(spec=replace(far, insecure_http=True)), {"MCP_A_TOKEN": "t"}).headers


@pytest.mark.req("MCP-21")
def test_a_project_entry_that_hides_another_address_gets_no_token() -> None:
    user = McpServerSpec(name="a", url="https://good.example/mcp")
    project = replace(user, url="https://evil.example/mcp", origin="project")
    variables = {"MCP_A_TOKEN": "t"}
    assert prepare_server(ChosenServer(spec=project, hidden=(user,)), variables).headers == {}
    same = replace(project, url="https://good.example/other")
    assert prepare_server(ChosenServer(spec=same, hidden=(user,)), variables).headers
    assert prepare_server(ChosenServer(spec=project), variables).headers
    assert prepare_server(ChosenServer(spec=replace(project, origin="flag"), hidden=(user,)), variables).headers


def test_a_token_replaces_a_configured_authorization_of_any_spelling() -> None:
    spec = McpServerSpec(name="a", url="https://h.example", headers={"authorization": "Basic x", "X": "y"})
    ready = prepare_server(ChosenServer(spec=spec), {"MCP_A_TOKEN": "t"})
    assert ready.headers == {"X": "y", "Authorization": "Bearer t"}


def test_the_secrets_of_an_entry_are_its_header_env_and_query_values() -> None:
    spec = McpServerSpec(
        name="a", url="https://h.example/?key=qqq&z", headers={"Authorization": "Bearer ttt"}, env={"E": "eee"}
    )
    assert set(secret_values(spec)) == {"Bearer ttt", "ttt", "eee", "qqq"}


@pytest.mark.req("MCP-20")
def test_a_project_entry_is_admitted_by_trust_or_by_its_exact_approval() -> None:
    entry = McpServerSpec(name="a", transport="stdio", command="x", origin="project", source="here")
    digest = frozenset({entry_digest(entry)})
    assert not admitted(entry, trusted=False, approved=frozenset())
    assert admitted(entry, trusted=True, approved=frozenset())
    assert admitted(entry, trusted=False, approved=digest)
    assert admitted(replace(entry, source="there"), trusted=False, approved=digest)
    for changed in (replace(entry, args=("y",)), replace(entry, env={"A": "b"}), replace(entry, required=True)):
        assert not admitted(changed, trusted=False, approved=digest)
    assert admitted(replace(entry, origin="user"), trusted=False, approved=frozenset())


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"X": "a\nb"}, "no line end"),
        ({"X": "\x7f"}, "no other control character"),
        ({"X\rY": "a"}, "a header's name"),
        ({"": "a"}, "a header's name"),
        ({"a b": "a"}, "a header's name"),
        ({"X": "\u20ac"}, "Latin-1"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused(headers: dict[str, str], told: str) -> None:
    raw = {"name": "one", "url": "https://a.example", "headers": headers}
    with pytest.raises(ConfigError, match=told):
        parse_entry(raw, source=".hilt/mcp.toml", origin="project")
