"""`hilt mcp`: entries are added, shown without secrets, and removed."""

import subprocess

import pytest

from tests.cli.kit import Hilt, command


def _text(hilt: Hilt) -> str:
    path = hilt.root / ".hilt" / "mcp.toml"
    return path.read_text() if path.exists() else ""


@pytest.mark.req("CLI-30", "CLI-32", "MCP-20")
def test_add_writes_a_command_to_the_project_and_approves_it(hilt: Hilt) -> None:
    ran = hilt("mcp", "add", "files", "--env", "ROOT=${HOME}/x=y", "--", "npx", "-y", "server", "--flag")
    assert (ran.code, ran.out) == (0, "Added files to .hilt/mcp.toml.\n")
    assert "[[servers]]" in _text(hilt)
    config = hilt.machine.load()
    (one,) = config.mcp_servers
    assert (one.spec.command, one.spec.args) == ("npx", ("-y", "server", "--flag"))
    assert one.spec.env == {"ROOT": "${HOME}/x=y"}
    assert config.mcp_withheld == ()


@pytest.mark.req("CLI-31", "CLI-32")
def test_add_takes_urls_and_both_scopes(hilt: Hilt) -> None:
    url = "https://a.example/mcp"
    assert hilt("mcp", "add", "a", "--url", url, "--header", "X-Key:  v: w ").code == 0
    assert hilt("mcp", "add", "b", "--url", url, "--transport", "sse", "--scope", "user").code == 0
    specs = {one.spec.name: one.spec for one in hilt.machine.load().mcp_servers}
    assert (specs["a"].transport, specs["a"].headers, specs["a"].origin) == ("http", {"X-Key": "v: w"}, "project")
    assert (specs["b"].transport, specs["b"].url, specs["b"].origin) == ("sse", url, "user")
    assert (hilt.machine.user_dir / "mcp.toml").exists()


WRONG = [
    ["a", "--url", "https://a.example", "--", "cmd"],
    ["a"],
    ["a", "--url", "https://a.example", "--env", "A=b"],
    ["a", "--header", "A: b", "--", "cmd"],
    ["a", "--transport", "sse", "--", "cmd"],
    ["a", "--env", "A", "--", "cmd"],
    ["a", "--env", "=b", "--", "cmd"],
    ["a", "--header", "A", "--url", "https://a.example"],
    ["a", "--header", " : b", "--url", "https://a.example"],
    ["a", "--url", "ftp://a.example"],
    ["a b", "--", "cmd"],
]


@pytest.mark.req("CLI-34")
@pytest.mark.parametrize("args", WRONG, ids=" ".join)
def test_flags_that_do_not_go_together_are_usage_errors_and_nothing_is_written(hilt: Hilt, args: list[str]) -> None:
    ran = hilt("mcp", "add", *args)
    assert (ran.code, ran.out) == (2, "")
    assert _text(hilt) == ""


@pytest.mark.req("CLI-35")
def test_a_name_that_is_taken_says_how_to_remove_it(hilt: Hilt) -> None:
    hilt("mcp", "add", "a", "--", "one")
    ran = hilt("mcp", "add", "A", "--", "two")
    assert (ran.code, "hilt mcp remove a" in ran.err) == (2, True)
    assert "two" not in _text(hilt)


@pytest.mark.req("CLI-35")
def test_a_removal_that_fits_both_scopes_needs_one(hilt: Hilt) -> None:
    for scope in ("project", "user"):
        hilt("mcp", "add", "a", "--scope", scope, "--", "cmd")
    ran = hilt("mcp", "remove", "a")
    assert (ran.code, "--scope project or --scope user" in ran.err) == (2, True)
    assert hilt("mcp", "remove", "a", "--scope", "user", "--json").json["scope"] == "user"
    assert hilt("mcp", "remove", "a").out == "Removed a from .hilt/mcp.toml.\n"
    missing = hilt("mcp", "remove", "a")
    assert (missing.code, missing.err) == (2, "hilt: no MCP server 'a' (known: none)\n")


@pytest.mark.req("CLI-36")
def test_an_edit_keeps_comments_order_and_format(hilt: Hilt) -> None:
    before = "# mine\n[[servers]]\nname=\"a\"   # why\ncommand = 'x'\n\n"
    hilt.machine.project_servers(before)
    hilt("mcp", "add", "b", "--", "y")
    assert _text(hilt).startswith(before.rstrip())
    hilt("mcp", "remove", "b")
    assert _text(hilt).rstrip() == before.rstrip()


@pytest.mark.req("CLI-36")
def test_of_edits_at_once_none_is_lost(hilt: Hilt) -> None:
    names = [f"s{number}" for number in range(6)]
    running = [
        subprocess.Popen(
            command(["mcp", "add", name, "--", "cmd"]),
            cwd=hilt.root,
            env=hilt.variables(),
            stdout=subprocess.DEVNULL,
        )
        for name in names
    ]
    assert [process.wait(50) for process in running] == [0] * len(names)
    assert sorted(one.spec.name for one in hilt.machine.load().mcp_servers) == names


@pytest.mark.req("CLI-37", "CLI-55")
def test_list_and_get_mask_secrets_and_expand_nothing(hilt: Hilt) -> None:
    hilt("mcp", "add", "a", "--env", "KEY=hunter2", "--", "cmd", "${NOWHERE}", "https://h.example/x?k=hunter2")
    hilt("mcp", "add", "b", "--url", "https://b.example/p?k=hunter2", "--header", "Authorization: Bearer ${NOWHERE}")
    for args in (["list"], ["list", "--json"], ["get", "a"], ["get", "a", "--json"], ["get", "b"]):
        ran = hilt("mcp", *args)
        assert ran.code == 0
        assert "hunter2" not in ran.out
        assert "Bearer" not in ran.out
        assert "[masked]" in ran.out
    shown = hilt("mcp", "get", "a", "--json").json
    assert (shown["args"], shown["env"]) == (["${NOWHERE}", "https://h.example/x?[masked]"], {"KEY": "[masked]"})
    assert hilt("mcp", "get", "b", "--json").json["url"] == "https://b.example/p?[masked]"
    assert hilt("mcp", "remove", "a").code == 0


def test_list_says_what_is_disabled_or_wants_trust(hilt: Hilt) -> None:
    assert hilt("mcp", "list").out.startswith("No servers.")
    hilt.machine.project_servers(
        '[[servers]]\nname = "a"\ncommand = "x"\nenabled = false\ncwd = "d"\n'
        '[[servers]]\nname = "b"\nurl = "https://b.example"\ntools = {allow = ["x"]}\nrequired = true\n'
    )
    lines = hilt("mcp", "list").out.splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [
        ["a", "project", "stdio", "disabled"],
        ["b", "project", "http", "needs"],
    ]
    shown = hilt("mcp", "get", "b", "--json").json
    assert (shown["approved"], shown["required"], shown["tools"]) == (False, True, {"allow": ["x"], "deny": []})
    assert hilt("mcp", "get", "a", "--json").json["cwd"] == "d"


def test_an_unknown_server_names_the_nearest(hilt: Hilt) -> None:
    hilt("mcp", "add", "files", "--", "cmd")
    ran = hilt("mcp", "get", "fils")
    assert (ran.code, ran.err) == (2, "hilt: no MCP server 'fils'; did you mean 'files'? (known: files)\n")
    assert hilt("mcp", "add", "x", "--json", "--", "cmd").json["added"] == {
        "name": "x",
        "transport": "stdio",
        "command": "cmd",
        "args": [],
    }
