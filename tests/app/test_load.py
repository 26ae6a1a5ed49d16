"""Reading files, environment and flags: what is data, what is trusted, where things lie, which servers."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from hilt.adapters.mcp_approvals_file import McpApprovals
from hilt.app.flags import Flags
from hilt.app.load import Locations, load_config, process_environment
from hilt.app.settings_schema import settings_schema
from hilt.core.errors import ConfigError
from hilt.core.permission import Effect, Scope
from tests.app.places import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine.below(tmp_path)


def _bomb() -> str:
    lines = ['a0: &a0 ["xxxxxxxxxxxxxxxxxxxx"]']
    for level in range(1, 9):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
    return "\n".join(lines)


NOT_DATA = {
    "model: !!python/object/apply:os.system [ls]": "the tag",
    "model: !secret x": "the tag '!secret'",
    "hooks: !!set {a}": "the tag",
    "model: !!binary aGk=": "the tag '!!binary'",
    _bomb(): "aliases make the document grow past 1 MiB",
    "a: &a [*a]": "may not contain itself",
    "model: *nowhere": "not valid YAML",
    "model: [1": "not valid YAML",
    "model: a\nmodel: b": "the key 'model' stands twice",
    "1: a": "a key is a text",
    "? [a]\n: b": "a key is a text",
    "model: a\n---\nmodel: b": "not valid YAML",
    "model: \x00": "not valid YAML",
    "a: " + "[" * 5000: "nested too deeply",
    "limits: {max_turns: !!int abc}": "cannot be read as int",
    "limits: {max_turns: " + "9" * 5000 + "}": "cannot be read as int",
}


@pytest.mark.req("CLI-57")
@pytest.mark.parametrize("text", NOT_DATA, ids=range(len(NOT_DATA)))
def test_yaml_is_read_as_data(machine: Machine, text: str) -> None:
    machine.user(text)
    with pytest.raises(ConfigError) as caught:
        machine.load()
    assert NOT_DATA[text] in str(caught.value)
    assert str(caught.value).startswith("~/.config/hilt/settings.yaml")


@pytest.mark.req("CLI-57")
def test_small_aliases_and_plain_tags_are_data(machine: Machine) -> None:
    machine.user("tools:\n  deny: &names [a, 2001-01-01]\n  allow: *names\nmodel: !!str 5\n")
    config = machine.load()
    assert config.tools.deny == config.tools.allow == ("a", "2001-01-01")
    assert config.model == "5"


def test_a_file_that_is_no_text_is_named_with_its_line(machine: Machine) -> None:
    (machine.root / ".hilt" / "settings.yaml").write_bytes(b"model: a\nmode: \xff\n")
    with pytest.raises(ConfigError, match=r"^\.hilt/settings\.yaml:2: is not UTF-8 text"):
        machine.load()


def test_a_file_that_cannot_be_read_is_an_error(machine: Machine) -> None:
    (machine.root / ".hilt" / "settings.yaml").mkdir()
    with pytest.raises(ConfigError, match=r"^\.hilt/settings\.yaml: cannot be read"):
        machine.load()


def test_a_huge_file_is_refused(machine: Machine) -> None:
    machine.shared("# " + "x" * (4 * 1024 * 1024))
    with pytest.raises(ConfigError, match="larger than 4 MiB"):
        machine.load()


@pytest.mark.req("PRM-30", "CLI-26")
def test_files_of_the_command_line_may_be_several_and_have_its_scope(machine: Machine) -> None:
    names = (
        machine.file("a.yaml", "permissions: {deny: [A]}"),
        machine.file("b.yaml", "permissions: {ask: [B]}"),
    )
    config = machine.load(Flags(permission_config=names))
    assert [(file.shown, file.scope) for file in config.rule_files if file.scope is Scope.CLI] == [
        ("a.yaml", Scope.CLI),
        ("b.yaml", Scope.CLI),
    ]


def test_a_file_that_a_flag_names_must_exist(machine: Machine) -> None:
    with pytest.raises(ConfigError, match=r"^nowhere\.yaml: there is no such file"):
        machine.load(Flags(permission_config=("nowhere.yaml",)))


@pytest.mark.req("CLI-61")
def test_no_variable_but_the_known_ones_changes_anything(machine: Machine) -> None:
    plain = machine.load()
    config = machine.load(HILT_MODE="auto", HILT_TOOLS="all", MODEL="a/b", HILT_MAX_TURNS="3", HILT_MODEL="")
    assert (config.mode, config.tools, config.limits) == (plain.mode, plain.tools, plain.limits)
    assert config.model is None


def test_the_known_variables_stand_for_their_flags(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    config = machine.load(
        HILT_MODEL="a/b",
        HILT_STORE="memory:",
        HILT_LOG="debug",
        HILT_SANDBOX="1",
        HILT_WORKSPACE=str(tmp_path / "other"),
    )
    assert (config.model, config.sessions.store, config.log.level) == ("a/b", "memory:", "debug")
    assert (config.sandboxed, config.workspace_root) == (True, str(tmp_path / "other"))
    with pytest.raises(ConfigError, match=r"^HILT_LOG: log\.level: expected one of"):
        machine.load(HILT_LOG="loud")


def test_a_wrong_value_of_a_flag_names_the_flag(machine: Machine) -> None:
    with pytest.raises(ConfigError, match=r"^--mode: mode: expected one of plan"):
        machine.load(Flags(mode="yolo"))


@pytest.mark.req("CLI-25")
def test_the_workspace_is_the_flag_then_the_variable_then_where_one_is(machine: Machine, tmp_path: Path) -> None:
    for name in ("flag", "variable"):
        (tmp_path / name).mkdir()
    variable = str(tmp_path / "variable")
    assert machine.load().workspace_root == str(machine.root)
    assert machine.load(HILT_WORKSPACE=variable).workspace_root == variable
    config = machine.load(Flags(workspace="../flag"), HILT_WORKSPACE=variable)
    assert config.workspace_root == str(tmp_path / "flag")
    with pytest.raises(ConfigError, match="--workspace: 'nowhere' is no directory"):
        machine.load(Flags(workspace="nowhere"))


def test_further_roots_come_from_flags_and_settings(machine: Machine, tmp_path: Path) -> None:
    for folder in (tmp_path / "a", machine.home / "b", machine.root / "c"):
        folder.mkdir()
    machine.user("workspace: {extra_roots: [~/b, c]}")
    config = machine.load(Flags(add_dirs=("../a", "../a")))
    assert config.extra_roots == (str(tmp_path / "a"), str(machine.home / "b"), str(machine.root / "c"))
    machine.user("workspace: {extra_roots: [nowhere]}")
    with pytest.raises(ConfigError, match=r"settings\.yaml:1: 'nowhere' is no directory"):
        machine.load()


def test_the_usual_variables_say_where_things_lie(tmp_path: Path) -> None:
    default = Locations.of({"HOME": str(tmp_path)})
    assert default.user_config_dir == tmp_path / ".config" / "hilt"
    assert default.state_dir == tmp_path / ".local" / "state" / "hilt"
    own = Locations.of({"HOME": str(tmp_path), "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "relative"})
    assert (own.user_config_dir, own.state_dir) == (Path("/c/hilt"), default.state_dir)
    assert own.shown(Path("/c/hilt/settings.yaml")) == "/c/hilt/settings.yaml"


def test_without_arguments_this_process_is_read(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.setenv("HILT_MODEL", "a/b")
    monkeypatch.chdir(machine.root)
    process_environment.cache_clear()
    config = load_config()
    process_environment.cache_clear()
    assert (config.model, config.workspace_root, config.home) == ("a/b", str(machine.root), str(machine.home))
    assert config.environment["HILT_MODEL"] == "a/b"


@pytest.mark.req("PRM-31", "PRM-34", "CLI-26")
def test_an_untrusted_project_gets_neither_allows_nor_hooks_and_one_warning_counts_them(
    machine: Machine,
) -> None:
    machine.shared("permissions: {allow: [A, B], deny: [C]}\nhooks: {Stop: [{command: x}]}")
    machine.local("permissions: {allow: [D]}")
    config = machine.load()
    assert (config.permissions.allow, config.permissions.deny, config.hook_definitions) == ((), ("C",), ())
    (warning,) = config.warnings
    assert "3 allow rules, 1 hooks" in warning
    trusted = machine.load(Flags(trust_project=True))
    assert (trusted.permissions.allow, len(trusted.hook_definitions)) == (("D", "A", "B"), 1)
    assert (trusted.trusted, trusted.warnings) == (True, ())


@pytest.mark.req("PRM-32", "PRM-33")
def test_the_user_lists_projects_that_are_trusted_and_a_project_cannot(machine: Machine, tmp_path: Path) -> None:
    machine.user(f"trust: {{projects: [{machine.root}]}}")
    assert machine.load().trusted
    machine.user("trust: {projects: [/elsewhere]}")
    machine.shared(f"trust: {{projects: [{machine.root}]}}")
    assert not machine.load().trusted
    link = tmp_path / "link"
    link.symlink_to(machine.root)
    machine.user(f"trust: {{projects: [{link}]}}")
    assert machine.load().trusted
    assert not machine.load(Flags(workspace=str(machine.home))).trusted


def test_rules_of_flags_have_the_scope_of_the_command_line(machine: Machine) -> None:
    config = machine.load(Flags(allow=("A",), ask=("B",), deny=("C(x)",)))
    assert [(rule.effect, rule.tool, rule.body, rule.scope, rule.source) for rule in config.rule_flags] == [
        (Effect.ALLOW, "A", None, Scope.CLI, "--allow"),
        (Effect.ASK, "B", None, Scope.CLI, "--ask"),
        (Effect.DENY, "C", "x", Scope.CLI, "--deny"),
    ]


SERVERS = '[[servers]]\nname = "{name}"\nurl = "https://{host}.example"\n'


@pytest.mark.req("MCP-04", "MCP-17", "MCP-22", "CLI-59", "CLI-20", "MCP-08")
def test_of_servers_with_one_name_the_first_source_wins_and_the_other_is_told(machine: Machine) -> None:
    machine.user(SERVERS.format(name="a", host="user") + SERVERS.format(name="u", host="user"), "mcp.toml")
    machine.project_servers(SERVERS.format(name="a", host="project") + SERVERS.format(name="p", host="project"))
    machine.user("mcp: {servers: [{name: p, url: 'https://profile.example'}, {name: f, url: 'https://x.example'}]}")
    servers = ("f=https://flag.example/?a=b", "g=https://flag.example")
    config = machine.load(Flags(mcp_servers=servers, trust_project=True))
    assert {one.spec.name: one.spec.url for one in config.mcp_servers} == {
        "f": "https://flag.example/?a=b",
        "g": "https://flag.example",
        "p": "https://profile.example",
        "a": "https://project.example",
        "u": "https://user.example",
    }
    hidden = {one.spec.name: [loser.origin for loser in one.hidden] for one in config.mcp_servers}
    assert hidden == {"f": ["profile"], "g": [], "p": ["project"], "a": ["user"], "u": []}


@pytest.mark.req("CLI-59", "MCP-18", "MCP-03")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", r"\.hilt/mcp\.toml: x: unknown key"),
        (
            '[[servers]]\nname="a"\nurl="https://a"\nfoo=1',
            r"\.hilt/mcp\.toml: servers\[0\]\.foo: unknown key",
        ),
        ('[[servers]]\nname="a"\nurl=\n', r"\.hilt/mcp\.toml: not valid TOML.*line 3"),
        ("a = " + "[" * 5000, r"\.hilt/mcp\.toml: n"),
        (SERVERS.format(name="a", host="x") + SERVERS.format(name="A", host="y"), "'a' and 'A'"),
    ],
)
def test_a_wrong_server_file_is_an_error_that_names_it(machine: Machine, text: str, message: str) -> None:
    machine.project_servers(text)
    with pytest.raises(ConfigError, match=message):
        machine.load()


@pytest.mark.req("CLI-21", "MCP-12", "MCP-13")
def test_plain_http_is_lifted_for_a_registered_server_alone(machine: Machine) -> None:
    config = machine.load(Flags(mcp_insecure=("a",), mcp_servers=("a=http://a.example",)))
    assert config.mcp_servers[0].spec.insecure_http
    for servers, name in [((), "a"), (("a=https://a.example",), "a"), (("a=http://127.0.0.1",), "a")]:
        with pytest.raises(ConfigError, match="--mcp-server-insecure-http"):
            machine.load(Flags(mcp_insecure=(name,), mcp_servers=servers))


def test_no_server_may_start_a_process_where_that_is_forbidden(machine: Machine) -> None:
    machine.user('[[servers]]\nname = "files"\ncommand = "npx"\n', "mcp.toml")
    with pytest.raises(ConfigError, match="'files'"):
        machine.load(Flags(no_stdio=True))
    machine.user('[[servers]]\nname = "files"\ncommand = "npx"\nenabled = false\n', "mcp.toml")
    assert machine.load(Flags(no_stdio=True)).no_stdio


def test_profiles_become_servers_that_take_their_token_from_a_variable(machine: Machine) -> None:
    machine.user(
        "mcp:\n  connect_timeout_s: 7\n  servers:\n"
        "    - {name: a, url: 'https://a.example', auth: {mode: static_bearer, token_env: HILT_A}}\n"
        "    - {name: b, url: 'https://b.example', required: true}\n"
    )
    a, b = (one.spec for one in machine.load().mcp_servers)
    assert (a.headers, a.origin, a.connect_timeout_s) == ({"Authorization": "Bearer ${HILT_A}"}, "profile", 7)
    assert (b.headers, b.required) == ({}, True)


OAUTH = (
    "mcp: {servers: [{name: a, url: 'https://a.example', required: %s, auth: {mode: oauth, oauth: "
    "{profile: w, principal: p, issuer: 'https://i.example', scopes: [s]}}}]}"
)


def test_a_profile_that_cannot_be_used_is_never_used_without_its_credentials(machine: Machine) -> None:
    machine.user(OAUTH % "false")
    config = machine.load()
    assert config.mcp_servers == ()
    assert "'a': auth.mode oauth is not part of this version" in config.warnings[0]
    machine.user(OAUTH % "true")
    with pytest.raises(ConfigError, match="oauth is not part"):
        machine.load()
    machine.user("mcp: {servers: [{name: a, url: 'https://a.example', auth: {mode: static_bearer}}]}")
    config = machine.load()
    assert config.mcp_servers == ()
    assert "static_bearer needs token_env" in config.warnings[0]
    machine.user("mcp: {servers: [{name: a, url: 'https://a.example', auth: {token_env: TOKEN}}]}")
    with pytest.raises(ConfigError, match="begins with HILT_ or MCP_"):
        machine.load()


@pytest.mark.req("MCP-20", "PRM-34")
def test_a_project_server_needs_trust_or_an_approval_of_exactly_it(machine: Machine) -> None:
    machine.project_servers(SERVERS.format(name="a", host="project"))
    machine.user(SERVERS.format(name="a", host="user"), "mcp.toml")
    config = machine.load()
    assert [one.spec.url for one in config.mcp_servers] == ["https://user.example"]
    assert [spec.url for spec in config.mcp_withheld] == ["https://project.example"]
    assert "1 MCP servers" in config.warnings[0]
    approvals = McpApprovals(machine.home / ".local" / "state" / "hilt")
    approvals.approve(machine.root, config.mcp_withheld[0])
    assert [one.spec.url for one in machine.load().mcp_servers] == ["https://project.example"]
    machine.project_servers(SERVERS.format(name="a", host="changed"))
    assert [one.spec.url for one in machine.load().mcp_servers] == ["https://user.example"]


@pytest.mark.req("MCP-01", "MCP-02", "MCP-14", "CLI-56")
@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("a b", "https://a.example"),
        ("a__b", "https://a.example"),
        ("a-_b", "https://a.example"),
        ("a_", "https://a.example"),
        ("a" * 65, "https://a.example"),
        ("a", "https://user:hunter2@a.example"),
        ("a", "https://a.example/#x"),
        ("a", "ftp://a.example"),
        ("a", "https://"),
        ("a", "https:/a.example"),
    ],
)
def test_profiles_have_the_names_and_addresses_that_servers_may_have(machine: Machine, name: str, url: str) -> None:
    document = {"mcp": {"servers": [{"name": name, "url": url}]}}
    machine.user(json.dumps(document))
    with pytest.raises(ConfigError, match=r"mcp\.servers\[0\]\.(name|url)") as caught:
        machine.load()
    assert "hunter2" not in str(caught.value)
    assert not jsonschema_rs.validator_for(settings_schema()).is_valid(document)


@pytest.mark.parametrize("name", ["a", "A-b_c", "_a", "-a", "a" * 64, "9"])
def test_profiles_may_have_these_names(machine: Machine, name: str) -> None:
    machine.user(json.dumps({"mcp": {"servers": [{"name": name, "url": "HTTPS://a.example:8/p?q=@"}]}}))
    assert [one.spec.name for one in machine.load().mcp_servers] == [name]
