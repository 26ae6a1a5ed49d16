"""`hilt serve` as the real command: where it listens, who may call, what it refuses to start with, how it ends."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from hilt.app.config import Config
from hilt.app.serve import GRACE_S, bound, parse_address
from hilt.core.errors import ConfigError
from tests.cli.kit import Hilt, command, without_toolhive

STDIO = '[[servers]]\nname = "{name}"\ncommand = "true"\n'


@dataclass(kw_only=True)
class Running:
    """A service that was started."""

    process: "subprocess.Popen[str]"
    url: str
    client: httpx2.Client

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal and return the exit code and what was written to standard error."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=40)
        return self.process.returncode, without_toolhive(err)

    def create(self, **body: object) -> str:
        """Make a session and return its path."""
        response = self.client.post("/v1/sessions", json=body)
        assert response.status_code == 201, response.text
        return f"/v1/sessions/{response.json()['session_id']}"


@contextmanager
def running(hilt: Hilt, *args: str, env: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Start the service on a free port and wait until it is ready; it is killed if it is still there at the end."""
    process = hilt.start("serve", "--listen", "127.0.0.1:0", "--no-toolhive", *args, env=env)
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("Listening on "), process.communicate()
        url = first.removeprefix("Listening on ").strip().replace("0.0.0.0", "127.0.0.1")
        token = (env or {}).get("HILT_AUTH_TOKEN", "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with httpx2.Client(base_url=url, trust_env=False, timeout=30, headers=headers) as client:
            yield Running(process=process, url=url, client=client)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.req("SES-95")
def test_it_serves_says_where_and_ends_with_0(hilt: Hilt) -> None:
    model = hilt.script({"text": "hello"})
    with running(hilt, "--model", model) as service:
        path = service.create(title="from the service")
        answer = service.client.post(f"{path}/prompt", json={"text": "hi"})
        assert answer.text.count("event: result\n") == 1
        assert service.client.get("/v1/info").json()["model"] == model
        assert service.end() == (0, "")
    stored = hilt("sessions", "show", path.rpartition("/")[2], "--json").json
    assert (stored["title"], stored["state"]) == ("from the service", "closed")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--model", "scripted:none.jsonl"), "the script cannot be read"),
        (("--model", "nonsense"), "unknown model 'nonsense'"),
        (("--grace", "nan"), "--grace takes a number of seconds"),
        (("--grace", "inf"), "--grace takes a number of seconds"),
        (("--grace", "-1"), "-1"),
    ],
)
def test_it_does_not_start_with_what_would_fail_every_session_or_the_end(
    hilt: Hilt, args: tuple[str, ...], told: str
) -> None:
    ran = hilt.really("serve", "--listen", "127.0.0.1:0", "--no-toolhive", *args)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


@pytest.mark.req("SES-95")
def test_at_sigterm_a_run_gets_its_grace_then_is_cancelled_stored_and_no_process_is_left(hilt: Hilt) -> None:
    calls = [{"name": "shell", "args": {"command": "echo $$ > pid; sleep 600"}}]
    model = hilt.script({"calls": calls}, {"text": "never"})
    args = ("--model", model, "--tools", "shell", "--allow", "shell", "--grace", "0.3")
    with running(hilt, *args) as service:
        path = service.create()
        with service.client.stream("POST", f"{path}/prompt", json={"text": "go"}) as response:
            lines = response.iter_lines()
            for line in lines:
                if line == "event: tool.start":
                    break
            while not (hilt.root / "pid").exists() or not (hilt.root / "pid").read_text().strip():
                time.sleep(0.02)
            child = int((hilt.root / "pid").read_text())
            assert Path(f"/proc/{child}").exists()
            service.process.send_signal(signal.SIGTERM)
            rest = "\n".join(lines)
        assert '"stop_reason":"cancelled"' in rest
        service.process.communicate(timeout=40)
        assert service.process.returncode == 0
        assert not Path(f"/proc/{child}").exists()
    stored = hilt("sessions", "show", path.rpartition("/")[2], "--json").json
    assert stored["state"] == "closed"


@pytest.mark.req("SES-95")
def test_a_run_that_ends_in_its_grace_is_not_cancelled(hilt: Hilt) -> None:
    assert GRACE_S == 30.0
    calls = [{"name": "shell", "args": {"command": "touch begun; cat gate"}}]
    model = hilt.script({"calls": calls}, {"text": "done in time"})
    os.mkfifo(hilt.root / "gate")
    with running(hilt, "--model", model, "--tools", "shell", "--allow", "shell") as service:
        path = service.create()
        with service.client.stream("POST", f"{path}/prompt", json={"text": "go"}) as response:
            while not (hilt.root / "begun").exists():
                time.sleep(0.02)
            service.process.send_signal(signal.SIGTERM)
            while service.client.get("/readyz").status_code != 503:
                time.sleep(0.02)
            assert service.client.post("/v1/sessions", json={}).status_code == 503
            (hilt.root / "gate").write_text("open")
            text = response.read().decode()
        assert '"final_text":"done in time"' in text
        service.process.communicate(timeout=40)
        assert service.process.returncode == 0


def test_a_signal_before_it_is_ready_ends_it_too(hilt: Hilt) -> None:
    hilt.machine.user(STDIO.format(name="slow").replace("true", "sleep") + 'args = ["600"]\n', "mcp.toml")
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    process = hilt.start("serve", "--listen", listen, "--no-toolhive")
    try:
        with httpx2.Client(base_url=f"http://{listen}", trust_env=False, timeout=30) as client:
            while True:
                try:
                    state = client.get("/readyz")
                    break
                except httpx2.ConnectError:
                    time.sleep(0.05)
            assert state.status_code == 503
            assert client.get("/healthz").status_code == 200
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=40)
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in err


def test_a_second_signal_ends_it_at_once(hilt: Hilt) -> None:
    calls = [{"name": "shell", "args": {"command": "touch begun; sleep 600"}}]
    model = hilt.script({"calls": calls}, {"text": "never"})
    with running(hilt, "--model", model, "--tools", "shell", "--allow", "shell", "--grace", "500") as service:
        path = service.create()
        assert service.client.post(f"{path}/prompt", json={"text": "go", "detach": True}).status_code == 202
        while not (hilt.root / "begun").exists():
            time.sleep(0.02)
        service.process.send_signal(signal.SIGTERM)
        while service.client.get("/readyz").status_code != 503:
            time.sleep(0.02)
        code, err = service.end()
        assert code == 0
        assert "Traceback" not in err


@pytest.mark.req("SES-71")
def test_it_does_not_listen_for_others_without_authentication(hilt: Hilt) -> None:
    refused = hilt.really("serve", "--listen", "0.0.0.0:0")
    assert refused.code == 2
    assert refused.out == ""
    assert "HILT_AUTH_TOKEN" in refused.err
    assert "--insecure-no-auth" in refused.err
    assert "Traceback" not in refused.err
    for args, env in ((["--insecure-no-auth"], {}), ([], {"HILT_AUTH_TOKEN": "a-long-enough-token"})):
        with running(hilt, "--listen", "0.0.0.0:0", *args, env=env) as service:
            assert service.client.get("/v1/info").status_code == 200
            assert httpx2.get(f"{service.url}/v1/info", trust_env=False).status_code == (200 if args else 401)
            assert service.end()[0] == 0


def test_a_file_of_tokens_names_the_principals(hilt: Hilt) -> None:
    tokens = hilt.root / "tokens"
    tokens.write_text("# who may call\n\nann  token-of-ann\nbob\ttoken-of-bob\n")
    tokens.chmod(0o600)
    with running(hilt, "--auth-token-file", "tokens", env={"HILT_AUTH_TOKEN": "token-of-operator"}) as service:
        path = service.create()
        for token, status in (("token-of-operator", 200), ("token-of-ann", 404), ("token-of-bob", 404), ("x", 401)):
            answer = service.client.get(path, headers={"Authorization": f"Bearer {token}"})
            assert answer.status_code == status
        mine = service.client.post("/v1/sessions", json={}, headers={"Authorization": "Bearer token-of-ann"}).json()
        code, err = service.end()
        assert code == 0
        assert err == "WARNING hilt.app.serve: service_without_model: sessions that name no model cannot run a prompt\n"
    shown = json.loads(hilt("sessions", "show", mine["session_id"], "--json").out)
    assert shown["owner"] == "ann"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("ann token-of-ann more\n", "PRINCIPAL TOKEN"),
        ("token-alone\n", "PRINCIPAL TOKEN"),
        ("ann same-token\nbob same-token\n", "'bob'"),
        ("# nobody\n", "no token"),
        (None, "cannot be read"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_file_of_tokens_that_is_wrong_stops_the_start_and_shows_no_token(
    hilt: Hilt, content: str | bytes | None, told: str
) -> None:
    if content is not None:
        (hilt.root / "tokens").write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = hilt("serve", "--listen", "127.0.0.1:0", "--auth-token-file", "tokens", "--no-toolhive")
    assert ran.code == 2
    assert told in ran.err
    assert "token-of" not in ran.err
    assert "same-token" not in ran.err
    assert str(hilt.root) not in ran.err


def test_a_file_that_others_can_read_is_told(hilt: Hilt) -> None:
    (hilt.root / "tokens").write_text("ann token-of-ann\n")
    (hilt.root / "tokens").chmod(0o644)
    with running(hilt, "--auth-token-file", "tokens") as service:
        code, err = service.end()
    assert code == 0
    assert "token_file_readable_by_others" in err


@pytest.mark.req("CLI-27")
@pytest.mark.parametrize("where", ["project", "user", "both"])
def test_no_stdio_refuses_every_process_by_name_from_wherever_it_comes(hilt: Hilt, where: str) -> None:
    if where in ("project", "both"):
        hilt.machine.project_servers(STDIO.format(name="of-the-project"))
    if where in ("user", "both"):
        hilt.machine.user(STDIO.format(name="of-the-user"), "mcp.toml")
    ran = hilt.really("serve", "--listen", "127.0.0.1:0", "--no-stdio", "--trust-project", "--no-toolhive")
    assert ran.code == 2
    assert "--no-stdio" in ran.err
    assert any(f"'of-the-{name}'" in ran.err for name in ("project", "user"))
    assert "Traceback" not in ran.err


@pytest.mark.req("CLI-27", "MCP-31")
def test_no_stdio_without_a_process_starts_and_a_caller_cannot_bring_one(hilt: Hilt) -> None:
    hilt.machine.user(STDIO.format(name="off") + "enabled = false\n", "mcp.toml")
    for flags in (["--no-stdio"], []):
        with running(hilt, *flags) as service:
            entry = {"name": "mine", "command": "sh", "args": ["-c", "touch started"]}
            refused = service.client.post("/v1/sessions", json={"mcp_servers": [entry]})
            assert refused.status_code == 400
            assert "command" in refused.json()["error"]["message"]
            assert service.client.get("/v1/sessions").json()["sessions"] == []
            assert service.end()[0] == 0
    assert not (hilt.root / "started").exists()


@pytest.mark.req("MCP-117")
def test_addresses_of_client_servers_are_judged_by_who_may_call(hilt: Hilt) -> None:
    entry = {"name": "inside", "url": "http://127.0.0.1:9/mcp"}
    others = ("--listen", "0.0.0.0:0", "--insecure-no-auth")
    for args, client_mcp, status in (
        ((), "public", 503),
        (others, "public", 400),
        (others, "any", 503),
        (others, "off", 403),
    ):
        hilt.machine.user(f"serve: {{client_mcp: {client_mcp}}}\n")
        with running(hilt, *args) as service:
            answer = service.client.post("/v1/sessions", json={"mcp_servers": [entry]})
            assert answer.status_code == status, answer.text
            assert service.client.get("/v1/sessions").json()["sessions"] == []
            assert service.end()[0] == 0


def test_an_address_that_is_taken_or_none_is_an_error_of_usage(hilt: Hilt) -> None:
    with running(hilt) as service:
        taken = service.url.removeprefix("http://")
        ran = hilt.really("serve", "--listen", taken, "--no-toolhive", "--json")
        assert ran.code == 2
        assert ran.error["code"] == "config"
        assert taken in ran.error["message"]
        assert service.end()[0] == 0
    for wrong in ("8081", "127.0.0.1", ":8081", "127.0.0.1:70000", "::1:8081"):
        assert hilt("serve", "--listen", wrong).code == 2
    for wrong_flag in (("--rate-limit", "0"), ("--grace", "-1"), ("--rate-limit", "x"), ("--listn", "x")):
        assert hilt("serve", *wrong_flag).code == 2


def test_where_it_is_told_as_json_and_limits_are_flags(hilt: Hilt) -> None:
    args = ["serve", "--listen", "127.0.0.1:0", "--no-toolhive", "--json", "--rate-limit", "2"]
    process = hilt.start(*args, "--cors-origin", "https://app.example")
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["listening"]
        with httpx2.Client(base_url=url, trust_env=False) as client:
            answers = [client.get("/v1/info", headers={"Origin": "https://app.example"}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[2].headers["access-control-allow-origin"] == "https://app.example"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=40)
    assert process.returncode == 0


def test_addresses_are_read_and_the_usual_one_is_of_this_machine() -> None:
    usual = parse_address(Config().serve.listen)
    assert (usual.host, usual.port, usual.loopback, usual.url(8081)) == (
        "127.0.0.1",
        8081,
        True,
        "http://127.0.0.1:8081",
    )
    six = parse_address("[::1]:9")
    assert (six.host, six.port, six.loopback, six.url(9)) == ("::1", 9, True, "http://[::1]:9")
    assert not parse_address("0.0.0.0:9").loopback
    assert not parse_address("host.example:9").loopback
    with pytest.raises(ConfigError, match="HOST:PORT"):
        parse_address("nonsense")


@pytest.mark.req("SES-82")
@pytest.mark.parametrize(("limit", "open_files"), [("-S -n 100", 400), ("-n 200", 200)])
def test_more_sessions_can_be_made_than_the_process_may_open_files(hilt: Hilt, limit: str, open_files: int) -> None:
    hilt.machine.user("sessions: {max_open: 120}\n")
    args = command(["serve", "--listen", "127.0.0.1:0", "--no-toolhive"])
    process = subprocess.Popen(
        ["/bin/sh", "-c", f'ulimit {limit} && exec "$@"', "sh", *args],
        cwd=hilt.root,
        env=hilt.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().removeprefix("Listening on ").strip()
        with httpx2.Client(base_url=url, trust_env=False, timeout=30) as client:
            made = [client.post("/v1/sessions", json={}).status_code for _ in range(140)]
            assert set(made) == {201}
            assert len(list(Path(f"/proc/{process.pid}/fd").iterdir())) < open_files
            assert "hilt_sessions_open 1" in client.get("/metrics").text
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=40)
    assert process.returncode == 0
    assert ("open_files_few limit=200 sessions=100 wanted=120" in err) is (limit == "-n 200")


def test_answers_do_not_wait_for_acknowledgements() -> None:
    with bound(parse_address("127.0.0.1:0")) as listener:
        listener.listen()
        with socket.create_connection(listener.getsockname()):
            connection, _ = listener.accept()
            with connection:
                assert connection.proto == socket.IPPROTO_TCP  # by which the event loop knows not to collect


def test_what_an_error_of_the_environment_holds_is_not_shown(hilt: Hilt) -> None:
    ran = hilt("serve", "--listen", "a-secret-token-here:9", env={"HILT_AUTH_TOKEN": "a-secret-token-here"})
    assert ran.code == 2
    assert "a-secret-token-here" not in ran.err
    assert os.environ.get("HILT_AUTH_TOKEN") is None
