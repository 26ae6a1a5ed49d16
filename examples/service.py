"""A client of `hilt serve`: starts the service, makes a session, streams a prompt and answers what is asked.

It needs nothing of hilt but the command, and could be written in any language; docs/serve.md has the routes.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import Request, urlopen

SCRIPT = [
    {"text": "I write it down.", "calls": [{"name": "Write", "args": {"path": "plan.md", "content": "Paint.\n"}}]},
    {"text": "It is in plan.md."},
]


def ask(url: str, body: object = None) -> object:
    """Send a request and return the body of its answer, None where it has none."""
    content = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, content), timeout=30) as answer:  # noqa: S310 - the address is of the service started below
        text = answer.read()
    return json.loads(text) if text else None


def prompt(session: str, text: str) -> None:
    """Run a prompt, print what comes, and allow whatever is asked."""
    body = json.dumps({"text": text}).encode()
    with urlopen(Request(f"{session}/prompt", body), timeout=30) as stream:  # noqa: S310 - the address is of that service too
        for line in stream:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line.removeprefix(b"data: "))
            match event["type"]:
                case "permission.ask":
                    print(f"asked: {event['tool']} {json.loads(event['arguments'])['path']}")
                    ask(f"{session}/approve", {"ask_id": event["ask_id"], "verdict": "allow_once"})
                case "tool.result":
                    print(event["result"]["content"])
                case "result":
                    print(f"{event['stop_reason']}: {event['final_text']}")


def main(folder: Path) -> None:
    """Serve the folder on a free port and talk to it."""
    (folder / "script.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in SCRIPT))
    command = [sys.executable, "-m", "hilt", "serve", "--listen", "127.0.0.1:0", "--quiet", "--no-toolhive"]
    options = ["--json", "--tools", "files", "--store", "memory:", "--model", "scripted:script.jsonl"]
    with subprocess.Popen([*command, *options], cwd=folder, stdout=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            base = json.loads(service.stdout.readline())["listening"]
            made = ask(f"{base}/v1/sessions", {"title": "A plan"})
            assert isinstance(made, dict)
            session = f"{base}/v1/sessions/{made['session_id']}"
            prompt(session, "Write down what we said.")
            stored = ask(f"{session}/calls")
            assert isinstance(stored, dict)
            print([f"{call['tool']} {call['decision']}" for call in stored["calls"]])
        finally:
            service.terminate()
    print(f"ended with {service.returncode}")


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        main(Path(temporary))
