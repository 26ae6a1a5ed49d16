"""Settings as values: their types, their order, what a project may say, and the schema that says the same."""

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from hilt.app.config import Rank
from hilt.app.flags import Flags
from hilt.app.load import read_layer
from hilt.app.settings_schema import settings_schema
from hilt.app.settings_shape import shape_of
from hilt.core.errors import ConfigError
from hilt.core.hook import HookEvent
from hilt.core.session import Limits, Mode
from tests.app.places import Machine
from tests.architecture.source import ROOT


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine.below(tmp_path)


def example() -> str:
    """Return the example of settings.yaml that the spec gives."""
    text = (ROOT / "docs" / "spec" / "cli.md").read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


@pytest.mark.req("CLI-50")
def test_the_example_of_the_spec_loads(machine: Machine) -> None:
    machine.user(example())
    config = machine.load()
    assert config.model == "anthropic/claude-sonnet-4-5"
    assert config.tools.timeouts == {"mcp__ci__*": 1800}
    assert config.permissions.deny == ("Read(.env*)", "mcp__linear__delete_issue")
    assert [(hook.event, hook.name) for hook in config.hook_definitions] == [
        (HookEvent.PRE_TOOL_USE, "no-prod"),
        (HookEvent.POST_TOOL_USE, "audit"),
    ]
    assert [one.spec.name for one in config.mcp_servers] == ["github"]


@pytest.mark.req("CLI-50")
def test_the_numbers_of_the_example_are_the_defaults(machine: Machine) -> None:
    default = machine.load()
    machine.user(example())
    config = machine.load()
    for name in ("limits", "agents", "memory", "skills", "sessions", "serve", "log"):
        assert getattr(config, name) == getattr(default, name)
    for name in ("toolhive", "toolhive_group", "resource_tools", "prompts", "wait", "live_catalog"):
        assert getattr(config.mcp, name) == getattr(default.mcp, name)
    assert config.mcp.connect_timeout_s == default.mcp.connect_timeout_s
    assert config.tools.max_concurrent == default.tools.max_concurrent
    assert config.tools.timeout_seconds == default.tools.timeout_seconds
    assert config.shell.max_processes == default.shell.max_processes
    assert (default.limits, default.mode) == (Limits(), Mode.DEFAULT)


WRONG = {
    "limits: {max_turn: 3}": (1, "limits.max_turn", "did you mean 'max_turns'?"),
    "model: x\nlimit: {}": (2, "limit", "did you mean 'limits'?"),
    "limits:\n  max_turns: many": (2, "limits.max_turns", "a whole number, got 'many'"),
    "limits: {max_turns: 0}": (1, "limits.max_turns", "a number from 1, got 0"),
    "limits: {max_turns: true}": (1, "limits.max_turns", "a whole number, got true"),
    "limits: {max_turns: 2.5}": (1, "limits.max_turns", "a whole number, got 2.5"),
    "limits: {max_seconds: .inf}": (1, "limits.max_seconds", "a number, got inf"),
    "mode: plam": (1, "mode", "did you mean 'plan'?"),
    "mode: 3": (1, "mode", "expected one of plan, default, accept-edits, auto, got 3"),
    "tools: {deny: Read}": (1, "tools.deny", "a list, got 'Read'"),
    "tools:\n  deny:\n    - Read\n    - 3": (4, "tools.deny[1]", "text, got 3"),
    "tools: [a]": (1, "tools", "a table, got a list"),
    "log: {json: 1}": (1, "log.json", "true or false, got 1"),
    "model: {a: 1}": (1, "model", "text, got a table"),
    "model: [a]": (1, "model", "text, got a list"),
    "tools: {timeouts: {a: 0}}": (1, "tools.timeouts.a", "a number above 0, got 0"),
    "tools: {timeouts: {a: null}}": (1, "tools.timeouts.a", "a number, got null"),
    "skills: {draft_similarity: 1.5}": (1, "skills.draft_similarity", "at most 1, got 1.5"),
    "trust: {projects: [src/app]}": (1, "trust.projects[0]", "an absolute path, got 'src/app'"),
    "hooks: {PreToolUze: []}": (1, "hooks.PreToolUze", "did you mean 'PreToolUse'?"),
    "hooks: {Stop: [{name: a}]}": (1, "hooks.Stop[0]", "needs exactly one of command and url"),
    "hooks: {Stop: [{command: a, url: 'http://a'}]}": (1, "hooks.Stop[0]", "needs exactly one of"),
    "hooks: {Stop: [{command: a, headers: {}}]}": (1, "hooks.Stop[0].headers", "goes with 'url' only"),
    "hooks: {Stop: [{command: a, timeout_s: 700}]}": (1, "hooks.Stop[0].timeout_s", "at most 600"),
    "hooks: {Stop: [{url: 'ftp://a'}]}": (1, "hooks.Stop[0].url", "an http or https URL"),
    "guardrails: [{match: [a]}]": (1, "guardrails[0].direction", "is missing"),
    "guardrails: [null]": (1, "guardrails[0].direction", "is missing"),
    "mcp: {servers: [{name: a}]}": (1, "mcp.servers[0].url", "is missing"),
    "results: {a: 1}": (1, "results.a", "known keys are none so far"),
}


@pytest.mark.req("CLI-51")
@pytest.mark.parametrize("text", WRONG)
def test_an_unknown_key_or_a_wrong_type_names_file_line_and_key(machine: Machine, text: str) -> None:
    line, key, message = WRONG[text]
    machine.user(text)
    with pytest.raises(ConfigError) as caught:
        machine.load()
    assert (caught.value.line, caught.value.key) == (line, key)
    assert str(caught.value).startswith(f"~/.config/hilt/settings.yaml:{line}: {key}: ")
    assert message in caught.value.reason


@pytest.mark.req("CLI-51")
def test_a_wrong_key_of_a_project_is_an_error_even_if_only_operators_may_set_it(machine: Machine) -> None:
    machine.shared("shell: {programme: bash}")
    with pytest.raises(ConfigError, match=r"\.hilt/settings\.yaml:1: shell\.programme"):
        machine.load()


@pytest.mark.req("PRM-07")
def test_a_rule_that_does_not_parse_names_file_line_and_column(machine: Machine) -> None:
    machine.shared('permissions:\n  allow:\n    - Read\n    - "Write(docs"\n')
    with pytest.raises(ConfigError, match=r"\.hilt/settings\.yaml:4: column 13: the bracket is not closed"):
        machine.load()


@pytest.mark.req("PRM-07")
def test_a_rule_of_a_flag_that_does_not_parse_names_the_flag(machine: Machine) -> None:
    with pytest.raises(ConfigError, match="--deny"):
        machine.load(Flags(deny=("Read(",)))


EMPTY = ["", "# nothing\n", "tools:\nhooks:\n", "hooks: {Stop: }\ntools: {deny: }\n", "\ufeff{}"]


@pytest.mark.parametrize("text", EMPTY)
def test_an_empty_file_section_or_list_says_nothing(machine: Machine, text: str) -> None:
    default = machine.load()
    machine.user(text)
    config = machine.load()
    assert (config.tools, config.hook_definitions) == (default.tools, ())


def _ranked(machine: Machine, given: set[Rank]) -> tuple[Flags, dict[str, str]]:
    files = {Rank.LOCAL_PROJECT: machine.local, Rank.SHARED_PROJECT: machine.shared, Rank.USER: machine.user}
    for rank, write in files.items():
        write(f"model: {rank.name}" if rank in given else "")
    machine.managed.write_text("model: MANAGED" if Rank.MANAGED in given else "")
    name = machine.file("cli.yaml", "model: CLI_FILE" if Rank.CLI_FILE in given else "")
    flags = Flags(permission_config=(name,), model="FLAG" if Rank.FLAG in given else None)
    return flags, {"HILT_MODEL": "VARIABLE" if Rank.VARIABLE in given else ""}


@pytest.mark.req("CLI-53")
@given(given_=st.sets(st.sampled_from(list(Rank))))
def test_of_single_values_the_strongest_source_wins(
    given_: set[Rank], tmp_path_factory: pytest.TempPathFactory
) -> None:
    machine = Machine.below(tmp_path_factory.mktemp("rank"))
    flags, variables = _ranked(machine, given_)
    config = machine.load(flags, **variables)
    assert config.model == (min(given_).name if given_ else None)


@pytest.mark.req("CLI-53")
def test_the_last_of_several_files_on_the_command_line_wins(machine: Machine) -> None:
    one, two = machine.file("1.yaml", "model: one"), machine.file("2.yaml", "model: two")
    assert machine.load(Flags(permission_config=(one, two))).model == "two"


@pytest.mark.req("CLI-53")
def test_rules_hooks_and_denied_tools_add_up(machine: Machine) -> None:
    machine.user("tools: {deny: [a]}\npermissions: {deny: [A]}\nhooks: {Stop: [{command: a}]}")
    machine.shared("tools: {deny: [b]}\npermissions: {deny: [B]}\nhooks: {Stop: [{command: b}]}")
    machine.local("tools: {deny: [c]}\npermissions: {deny: [C]}\nhooks: {Stop: [{command: c}]}")
    machine.managed.write_text("permissions: {deny: [D]}\nhooks: {Stop: [{command: d}]}")
    name = machine.file("cli.yaml", "permissions: {deny: [E]}\nhooks: {Stop: [{command: e}]}")
    config = machine.load(Flags(trust_project=True, permission_config=(name,), deny=("F",)))
    assert config.tools.deny == ("c", "b", "a")
    assert config.permissions.deny == ("D", "F", "E", "C", "B", "A")
    assert [hook.command for hook in config.hook_definitions] == ["d", "e", "a", "b", "c"]


def test_tables_with_free_keys_are_merged_entry_by_entry(machine: Machine) -> None:
    machine.user("tools: {timeouts: {a: 1, b: 2}}")
    machine.shared("tools: {timeouts: {b: 3}}")
    assert machine.load().tools.timeouts == {"a": 1, "b": 3}


@pytest.mark.req("CLI-52")
def test_operator_keys_of_a_project_are_not_used_and_told_once(machine: Machine) -> None:
    machine.shared("mode: auto\nshell: {program: evil}\nmcp: {toolhive: false, wait: fast}\n")
    machine.local("trust: {projects: [/]}\nmcp: {servers: [{name: a, url: 'https://a.example'}]}\n")
    config = machine.load(Flags(trust_project=True))
    assert (config.mode, config.shell.program, config.mcp.toolhive) == (Mode.DEFAULT, None, True)
    assert (config.trust.projects, config.mcp.servers, config.mcp.wait) == ((), (), "fast")
    (warning,) = config.warnings
    for key in ("mode", "shell.program", "mcp.toolhive", "trust.projects", "mcp.servers"):
        assert f"{key} (.hilt/settings" in warning


@pytest.mark.req("CLI-58")
def test_a_project_enables_tools_only_with_trust_and_denies_always(machine: Machine) -> None:
    machine.shared("tools: {enable: [files, shell], deny: [Grep]}")
    config = machine.load()
    assert (config.tools.enable, config.tools.deny) == (("files.read",), ("Grep",))
    assert "2 enabled categories" in config.warnings[0]
    trusted = machine.load(Flags(trust_project=True))
    assert (trusted.tools.enable, trusted.tools.deny) == (("files", "shell"), ("Grep",))
    assert trusted.warnings == ()


@pytest.mark.req("CLI-08")
def test_the_flag_for_tools_names_categories_none_or_all(machine: Machine) -> None:
    assert machine.load().tools.enable == ("files.read",)
    assert machine.load(Flags(tools="none")).tools.enable == ()
    assert machine.load(Flags(tools="files, shell")).tools.enable == ("files", "shell")
    every = ("agents", "comms", "delegation", "files", "memory", "shell", "skills", "tasks", "web")
    assert machine.load(Flags(tools="all")).tools.enable == every


@pytest.mark.req("CLI-54")
def test_each_value_knows_the_file_and_line_flag_or_variable_that_it_came_from(machine: Machine) -> None:
    machine.user("log:\n  level: debug\nlimits:\n  max_turns: 7\npermissions:\n  deny:\n    - A\n    - B\n")
    config = machine.load(Flags(mode="plan"), HILT_MODEL="a/b")
    assert str(config.source("log.level")) == "~/.config/hilt/settings.yaml:2"
    assert str(config.source("limits.max_turns")) == "~/.config/hilt/settings.yaml:4"
    assert str(config.source("mode")) == "--mode"
    assert str(config.source("model")) == "HILT_MODEL"
    assert str(config.source("limits.max_tokens")) == "default"
    lines = [source.line for source in config.sources["permissions", "deny"]]
    assert lines == [7, 8]


def _loads(document: object) -> bool:
    try:
        read_layer(json.dumps(document), rank=Rank.USER, shown="x")
    except ConfigError:
        return False
    return True


SCALAR = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 700),
    st.sampled_from([0.5, 1.0, -0.5, 600.5]),
    st.sampled_from(["", " ", "a", "plan", "block", "auto", "/x", "Read(a)", "Read(", "http://a", "in", "HILT_X"]),
)
VALUE: st.SearchStrategy[object] = st.one_of(SCALAR, st.lists(SCALAR, max_size=2), st.just({}))


@st.composite
def documents(draw: st.DrawFn) -> object:
    """Settings that are nearly right: the example with some values put elsewhere or changed."""
    document = YAML(typ="safe", pure=True).load(example())
    for _ in range(draw(st.integers(1, 3))):
        at: object = document
        while isinstance(at, dict | list) and at:
            key = draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
            below = at[key]
            if not isinstance(below, dict | list) or not below or draw(st.booleans()):
                change = draw(st.sampled_from(["value", "remove", "add"]))
                if change == "value":
                    at[key] = draw(VALUE)
                elif change == "remove":
                    del at[key]
                elif isinstance(at, dict):
                    at[draw(st.sampled_from(["url", "command", "mode", "headers", "x", "timeout_s"]))] = draw(VALUE)
                break
            at = below
    return document


@pytest.mark.req("CLI-56")
@given(document=documents())
def test_the_schema_accepts_and_refuses_what_loading_does(document: object) -> None:
    assert jsonschema_rs.validator_for(settings_schema()).is_valid(document) == _loads(document)


@pytest.mark.req("CLI-56")
@pytest.mark.parametrize("text", [*WRONG, *EMPTY[:-1], "limits: {max_turns: 7.0}", "permissions: {deny: ['a(b']}"])
def test_the_schema_agrees_on_the_cases_of_this_file(text: str) -> None:
    if ".inf" in text:
        return  # no JSON can say it
    document = YAML(typ="safe", pure=True).load(text)
    assert jsonschema_rs.validator_for(settings_schema()).is_valid(document) == _loads(document)


@pytest.mark.req("CLI-56")
def test_the_schema_is_a_schema() -> None:
    assert jsonschema_rs.meta.is_valid(settings_schema())


@pytest.mark.parametrize("hint", [bytes, object, list[int], set[str], dict[int, str]])
def test_settings_have_no_values_of_other_types(hint: object) -> None:
    with pytest.raises(TypeError, match="settings have no values of type"):
        shape_of(hint)
