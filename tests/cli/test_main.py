"""The command as a whole: its table, its help, unknown names, switches, errors, start-up."""

import os
import subprocess
import tomllib

import click
import pytest

from hilt.cli import main
from hilt.cli.command import HiltCommand, HiltGroup
from hilt.cli.failure import failure_of, report, worst
from hilt.core.errors import (
    ConfigError,
    ConflictError,
    HarnessFault,
    ModelError,
    SessionBusyError,
    SessionNotFoundError,
    UnreachableError,
)
from hilt.core.version import VERSION
from tests.architecture.source import ROOT
from tests.cli.kit import Hilt, command

GROUPS = {
    "tools": ["list", "show", "call"],
    "mcp": ["add", "list", "get", "remove"],
    "permissions": ["why", "lint", "replay"],
    "hooks": ["list", "test"],
    "sessions": ["list", "show", "calls", "delete"],
    "config": ["show", "validate", "init"],
}
ALL = [
    *([name] for name in main.COMMANDS),
    *([group, name] for group, names in GROUPS.items() for name in names),
]


@pytest.mark.req("CLI-01")
@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_each_command_has_help_with_an_example(hilt: Hilt, words: list[str]) -> None:
    ran = hilt(*words, "--help")
    assert ran.code == 0
    assert "Examples:" in ran.out
    assert f"hilt {words[0]}" in ran.out.partition("Examples:")[2]


@pytest.mark.req("CLI-01")
def test_groups_have_the_commands_of_the_table() -> None:
    for name, commands in GROUPS.items():
        group = main.root.get_command(click.Context(main.root), name)
        assert isinstance(group, HiltGroup)
        assert set(commands) <= set(group.commands)


def test_a_command_that_is_not_in_the_table_is_none() -> None:
    assert main.root.get_command(click.Context(main.root), "nothing") is None


@pytest.mark.req("CLI-02")
def test_hilt_alone_prints_the_commands_and_exits_2(hilt: Hilt) -> None:
    ran = hilt()
    assert ran.code == 2
    for name in main.COMMANDS:
        assert f"  {name} " in ran.out


@pytest.mark.req("CLI-02")
@pytest.mark.parametrize(
    ("args", "near"),
    [
        (["versoin"], "did you mean 'version'"),
        (["mcp", "lst"], "did you mean 'list'"),
        (["version", "--jsn"], "--json"),
        (["run", "x", "--modle", "a"], "--mode"),
        (["permissions", "lintt"], "did you mean 'lint'"),
    ],
)
def test_an_unknown_command_or_flag_names_the_nearest(hilt: Hilt, args: list[str], near: str) -> None:
    ran = hilt(*args)
    assert (ran.code, ran.out) == (2, "")
    assert near in ran.err
    assert len(ran.err.splitlines()) == 1


@pytest.mark.req("CLI-02")
def test_a_command_that_is_like_none_is_named_alone(hilt: Hilt) -> None:
    ran = hilt("xyzzy")
    assert (ran.code, ran.err) == (2, "hilt: no command 'xyzzy' in 'hilt' (see hilt --help)\n")


def _seconds(hilt: Hilt, words: list[str]) -> float:
    """Return the least processor time of five runs, which a busy machine does not change."""
    env = {name: value for name, value in hilt.variables().items() if not name.startswith("COV")}
    times = []
    for _ in range(5):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=env)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        times.append(usage.ru_utime + usage.ru_stime)
    return min(times)


@pytest.mark.req("CLI-03")
@pytest.mark.parametrize("argument", ["version", "--help"])
def test_version_and_help_start_within_100_ms(hilt: Hilt, argument: str) -> None:
    assert _seconds(hilt, command([argument])) < 0.1


def test_version_tells_hilt_python_and_the_protocols(hilt: Hilt) -> None:
    ran = hilt("version", "--json")
    assert ran.json["hilt"] == "0.1.0"
    assert ran.json["mcp"] == ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
    assert hilt("version").out.startswith("hilt 0.1.0\nPython 3.")


@click.command(cls=HiltCommand)
@click.option("--x/--no-x", default=None)
@click.argument("rest", nargs=-1)
def switched(x: bool | None, rest: tuple[str, ...]) -> None:
    """Print the switch."""
    click.echo(f"{x} {rest}")


@pytest.mark.req("CLI-24")
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--x"], "True ()"),
        (["--no-x"], "False ()"),
        (["--x=true"], "True ()"),
        (["--x=false"], "False ()"),
        (["--x=FALSE"], "False ()"),
        (["--no-x=true"], "False ()"),
        (["--no-x=false"], "True ()"),
        ([], "None ()"),
        (["--", "--x=false"], "None ('--x=false',)"),
    ],
)
def test_a_switch_has_four_spellings(capsys: pytest.CaptureFixture[str], args: list[str], told: str) -> None:
    switched.main(args, standalone_mode=False)
    assert capsys.readouterr().out == told + "\n"


@pytest.mark.req("CLI-24")
def test_a_switch_takes_no_other_value(hilt: Hilt) -> None:
    ran = hilt("version", "--json=maybe")
    assert (ran.code, ran.err) == (2, "hilt: --json is true or false, not 'maybe' (see hilt version --help)\n")


@pytest.mark.req("CLI-24", "CLI-23", "CLI-22")
@pytest.mark.parametrize("name", ["mcp-resource-tools", "mcp-prompts", "toolhive"])
def test_switches_of_the_mcp_client_are_on_and_can_be_turned_off(hilt: Hilt, name: str) -> None:
    key = "mcp." + name.removeprefix("mcp-").replace("-", "_")

    def value(*args: str) -> object:
        settings = hilt("config", "show", "--json", *args).json["settings"]
        assert isinstance(settings, list)
        return next(one for one in settings if one["key"] == key)

    assert value() == {"key": key, "value": True, "source": "default"}
    assert value(f"--{name}=false") == {"key": key, "value": False, "source": f"--{name}"}
    assert value(f"--no-{name}") == value(f"--{name}=false")


@pytest.mark.req("CLI-40")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2),
        (click.UsageError("x"), 2),
        (click.FileError("x"), 2),
        (SessionNotFoundError("x"), 2),
        (SessionBusyError("x"), 1),
        (ConflictError("x"), 1),
        (UnreachableError("x"), 5),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (click.exceptions.Exit(3), 3),
        (ModelError("x"), 1),
        (HarnessFault("x"), 1),
        (ValueError("x"), 1),
    ],
)
def test_exit_codes_are_those_of_the_table(error: BaseException, code: int) -> None:
    assert failure_of(error).exit_code == code


@pytest.mark.req("CLI-40")
def test_where_several_codes_fit_the_first_of_the_order_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    group = BaseExceptionGroup("", [ValueError("x"), ExceptionGroup("", [UnreachableError("no server")])])
    assert report(group, as_json=False) == 5
    assert capsys.readouterr().err == "hilt: no server\n"
    assert worst(1, 3, 4, 143, 130, 5, 2) == 2
    assert [worst(1, 3), worst(3, 4), worst(4, 143), worst(143, 130), worst(130, 5), worst(0)] == [3, 4, 143, 130, 5, 0]


@pytest.mark.req("CLI-43")
def test_an_error_is_one_line_or_one_json_document(hilt: Hilt) -> None:
    hilt.machine.user("modle: x")
    plain = hilt("config", "show")
    assert plain.err == "hilt: ~/.config/hilt/settings.yaml:1: modle: unknown key; did you mean 'mode'?\n"
    ran = hilt("config", "show", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error["code"] == "config"
    assert set(ran.error) == {"code", "message", "hint"}
    assert hilt("nothing", "--json").error["hint"] == "see hilt --help"


@pytest.mark.req("CLI-44")
def test_no_traceback_reaches_the_user(hilt: Hilt, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("hilt.cli.config.listing", broken)
    ran = hilt("config", "show")
    assert ran.code == 1
    assert ran.err.startswith("hilt: something in hilt itself failed: ZeroDivisionError")
    assert "Traceback" not in ran.err
    debug = hilt("config", "show", "--log-level", "debug", "--log-json")
    assert "ZeroDivisionError: secret detail" in debug.err


@pytest.mark.req("CLI-45")
def test_errors_and_logs_hold_no_known_secret(hilt: Hilt) -> None:
    secret = "hunter2-hunter2"
    ran = hilt("run", "x", "--mode", secret, env={"MY_API_KEY": secret})
    assert ran.code == 2
    assert secret not in ran.err
    assert "[masked]" in ran.err
    hilt.machine.shared(f"shell: {{program: x}}\n# {secret}\n")
    hilt.machine.user("tools: {enable: []}")
    logged = hilt("tools", "list", "--log-json", env={"MY_API_KEY": ".hilt/settings.yaml:1"})
    assert "[masked]" in logged.err
    assert ".hilt/settings.yaml:1" not in logged.err


@pytest.mark.req("CLI-46")
def test_colour_and_progress_stay_away_from_pipes(hilt: Hilt) -> None:
    model = hilt.script({"text": "hello"})
    ran = hilt("run", "x", "--model", model)
    assert (ran.out, ran.err) == ("hello\n", "")


def test_output_that_nobody_reads_is_no_failure_with_a_trace(hilt: Hilt) -> None:
    with hilt.start("config", "show") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_the_module_can_be_run(hilt: Hilt) -> None:
    assert hilt.really("version").out.startswith("hilt 0.1.0")


def test_the_version_is_that_of_the_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["version"] == VERSION


def _options(command_: click.Command) -> set[str]:
    names = {name for param in command_.params if isinstance(param, click.Option) for name in param.opts}
    if isinstance(command_, click.Group):
        for child in command_.list_commands(click.Context(command_)):
            found = command_.get_command(click.Context(command_), child)
            names |= _options(found) if found is not None else set()
    return names


@pytest.mark.req("CLI-28")
def test_no_flag_takes_the_value_of_a_secret() -> None:
    named = [name for name in _options(main.root) if any(w in name for w in ("token", "secret", "password", "key"))]
    assert named == ["--auth-token-file"]
