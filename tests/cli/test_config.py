"""`hilt config`: what holds and where it comes from, checks, a file to start from."""

import json

import jsonschema_rs
import pytest

from tests.cli.kit import Hilt


def _value(ran: object, key: str) -> dict[str, object]:
    assert isinstance(ran, dict)
    found = next(one for one in ran["settings"] if one["key"] == key)
    assert isinstance(found, dict)
    return found


@pytest.mark.req("CLI-54")
def test_show_names_the_source_of_every_value(hilt: Hilt) -> None:
    hilt.machine.user("log: {level: debug}\npermissions:\n  deny: [A, B]\ntools: {timeouts: {'a.b': 3}}\n")
    hilt.machine.shared("permissions:\n  deny: [C]\n")
    shown = hilt("config", "show", "--json", "--max-turns", "7", env={"HILT_MODEL": "a/b"}).json
    user = "~/.config/hilt/settings.yaml"
    expected = {
        "log.level": ("debug", f"{user}:1"),
        "model": ("a/b", "HILT_MODEL"),
        "limits.max_turns": (7, "--max-turns"),
        "limits.max_tokens": (None, "default"),
        "permissions.deny[0]": ("C", ".hilt/settings.yaml:2"),
        "permissions.deny[1]": ("A", f"{user}:3"),
        "permissions.deny[2]": ("B", f"{user}:3"),
        "tools.timeouts.a.b": (3, f"{user}:4"),
    }
    assert {key: (_value(shown, key)["value"], _value(shown, key)["source"]) for key in expected} == expected


@pytest.mark.req("CLI-54", "CLI-45")
def test_show_masks_secrets(hilt: Hilt) -> None:
    hilt.machine.user(
        "hooks:\n  Stop: [{url: 'https://a.example/h?key=hunter2', headers: {Authorization: hunter2}}]\n"
        "mcp: {servers: [{name: a, url: 'https://b.example/?token=hunter2'}]}\n"
    )
    for args in (["--json"], ["--changed"]):
        ran = hilt("config", "show", *args)
        assert "hunter2" not in ran.out
        assert "https://a.example/h?[masked]" in ran.out
        assert ran.out.count("[masked]") >= 3


def test_show_prints_a_table_for_people(hilt: Hilt) -> None:
    ran = hilt("config", "show", "--changed", "--mode", "plan")
    assert ran.out.splitlines()[1:] == ['mode  "plan"  --mode']
    assert "(not trusted)" in ran.out


@pytest.mark.req("CLI-42", "CLI-56")
def test_validate_prints_the_schema(hilt: Hilt) -> None:
    schema = hilt("config", "validate", "--schema").json
    assert jsonschema_rs.validator_for(schema).is_valid({"model": "a/b"})


@pytest.mark.req("CLI-51", "CLI-42")
def test_validate_finds_what_is_wrong_and_exits_1(hilt: Hilt) -> None:
    name = hilt.machine.file("x.yaml", "limits: {max_turns: x}\n")
    ran = hilt("config", "validate", name, "--json")
    assert ran.code == 1
    assert ran.json == {
        "findings": [
            {
                "source": "x.yaml",
                "line": 1,
                "key": "limits.max_turns",
                "message": "x.yaml:1: limits.max_turns: expected a whole number, got 'x'",
            }
        ]
    }
    assert hilt("config", "validate", name).out.startswith("x.yaml:1: ")
    hilt.machine.local("nope: 1")
    everything = hilt("config", "validate")
    assert (everything.code, everything.out.partition(": ")[0]) == (1, ".hilt/settings.local.yaml:1")


@pytest.mark.req("BLT-05")
def test_validate_finds_a_category_that_nobody_knows(hilt: Hilt) -> None:
    hilt.machine.file("x.yaml", "tools:\n  enable:\n    - files\n    - flies\n")
    ran = hilt("config", "validate", "x.yaml")
    assert (ran.code, ran.out.splitlines()[0].split(";")[0]) == (
        1,
        "x.yaml:4: tools.enable: unknown category 'flies'",
    )
    hilt.machine.shared("tools: {enable: [flies]}")
    assert hilt("config", "validate").code == 1


def test_validate_of_what_is_right_exits_0(hilt: Hilt) -> None:
    assert hilt("config", "validate").out == "Nothing wrong.\n"
    right = hilt.machine.file("x.yaml", "limits: {max_turns: 3}\n")
    servers = hilt.machine.file("x.toml", '[[servers]]\nname = "a"\nurl = "https://a.example"\n')
    assert [hilt("config", "validate", name).code for name in (right, servers)] == [0, 0]
    assert hilt("config", "validate", right, "--json").json == {"findings": []}


def test_validate_checks_server_files_too_and_names_a_file_that_is_not_there(hilt: Hilt) -> None:
    hilt.machine.file("x.toml", '[[servers]]\nname = "a"\nfoo = 1\n')
    assert "servers[0].foo" in hilt("config", "validate", "x.toml").out
    for name in ("no.yaml", "no.toml"):
        ran = hilt("config", "validate", name)
        assert (ran.code, ran.out) == (1, f"{name}: there is no such file\n")


def test_init_makes_a_file_that_loads_and_touches_none_that_is_there(hilt: Hilt) -> None:
    assert hilt("config", "init").out == "Made .hilt/settings.yaml.\n"
    assert hilt("config", "init", "--scope", "user", "--json").json == {"file": "~/.config/hilt/settings.yaml"}
    assert hilt("config", "init", "--scope", "local").code == 0
    assert hilt("config", "validate").code == 0
    before = (hilt.root / ".hilt" / "settings.yaml").read_text()
    ran = hilt("config", "init")
    assert (ran.code, ran.err) == (2, "hilt: .hilt/settings.yaml: exists already; edit it, or remove it first\n")
    assert (hilt.root / ".hilt" / "settings.yaml").read_text() == before


def test_init_uncommented_loads_as_well(hilt: Hilt) -> None:
    hilt("config", "init", "--scope", "user")
    path = hilt.machine.user_dir / "settings.yaml"
    lines = path.read_text().splitlines()
    bare = [line.removeprefix("# ") if ": " in line or line.endswith(":") else line for line in lines[3:]]
    kept = [line for line in bare if not line.lstrip().startswith('- "Write') and "mcp__" not in line]
    path.write_text("\n".join(kept))
    ran = hilt("config", "show", "--json")
    assert ran.code == 0, ran.err
    assert _value(json.loads(ran.out), "model")["value"] == "anthropic/claude-sonnet-4-5"


def test_a_place_that_cannot_be_written_is_an_error(hilt: Hilt) -> None:
    (hilt.root / ".hilt").rmdir()
    (hilt.root / ".hilt").write_text("")
    ran = hilt("config", "init")
    assert (ran.code, "cannot be written" in ran.err) == (2, True)
