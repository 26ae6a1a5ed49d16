"""The review by three children runs offline as its reader would run it, and with a model that is named."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

REVIEW = Path(__file__).resolve().parents[2] / "examples" / "team" / "review.py"
FOUND = [
    "cart.py:6 divides by 10, not by 100: every total is ten times too high.",
    "README.md names a parameter `rebate` of total; the code calls it `discount`.",
    "export.py:8 joins a customer's text to a path: `../` leads out of exports.",
]
SIDES = ("correctness", "documentation", "safety")
USED = (("Glob", "Read"), ("Read", "Grep"), ("Grep",))


def run(folder: Path, *args: str) -> list[str]:
    """Run the example in a folder and return what it prints."""
    ran = subprocess.run(
        [sys.executable, REVIEW, *args], cwd=folder, capture_output=True, encoding="utf-8", timeout=50, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.splitlines()


@pytest.mark.req("BLT-50", "BLT-62")
def test_three_children_review_a_repository_and_the_lead_keeps_the_list(tmp_path: Path) -> None:
    before = sorted(REVIEW.parent.rglob("*"))
    assert run(tmp_path) == [
        *(f"task_create  {side}: pending" for side in SIDES),
        *(
            line
            for number, (text, tools) in enumerate(zip(FOUND, USED, strict=True), start=1)
            for line in (f"Subagent     {text}", *(f"              agent-{number}: {tool}" for tool in tools))
        ),
        *(f"task_update  {side}: completed" for side in SIDES),
        "task_list    3 tasks",
        *(f"- {text}" for text in FOUND),
    ]
    assert sorted(REVIEW.parent.rglob("*")) == before
    assert list(tmp_path.iterdir()) == []


def test_the_same_job_goes_to_a_model_that_is_named(tmp_path: Path) -> None:
    script = tmp_path / "model.jsonl"
    script.write_text(json.dumps({"when": "Review this repository", "text": "Nothing is wrong."}))
    assert run(tmp_path, f"scripted:{script}") == ["Nothing is wrong."]
