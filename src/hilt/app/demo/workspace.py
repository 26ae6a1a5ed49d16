"""The workspace of the demo: a small git repository with a bug, a large table, settings and a hook."""

import subprocess
from pathlib import Path

TABLE_ROWS = 4_000

README = """# Shelf

Counts the books of a small library.

Known bug: the total in `shelf.py` leaves out the last shelf.
"""

CODE = '''"""Count books."""


def total(shelves: list[int]) -> int:
    """Return the number of books on all shelves."""
    count = 0
    for position in range(len(shelves) - 1):
        count += shelves[position]
    return count
'''

TEST = """import unittest

from shelf import total


class Total(unittest.TestCase):
    def test_every_shelf_counts(self) -> None:
        self.assertEqual(total([3, 4, 5]), 12)


if __name__ == "__main__":
    unittest.main()
"""

SETTINGS = """permissions:
  allow:
    - mcp__git__git_log
    - mcp__git__git_status
    - mcp__everything__echo
    - mcp__orders__list
    - shell(python3 -m unittest*)
  deny:
    - shell(rm:*)
hooks:
  PreToolUse:
    - name: short-log
      match: [mcp__git__git_log]
      command: python3 .hilt/short_log.py
"""

HOOK = '''"""Keep the log short: whatever the model asks for, three commits are enough."""

import json
import sys

event = json.load(sys.stdin)
wanted = {**event["tool_input"], "max_count": 3}
print(
    json.dumps(
        {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": wanted}}
    )
)
'''

COMMITS = ("Add the counter", "Add its test", "Add the loans of last year", "Say what is left to do")


def make_workspace(root: Path) -> None:
    """Fill an empty directory with the demo's files and commit them.

    Raises:
        OSError: git is missing, or a file cannot be written.
        subprocess.CalledProcessError: git failed.
    """
    _git(root, "init", "-q", "-b", "main")
    rows = "\n".join(f"{number},shelf-{number % 40:02},{1990 + number % 36}" for number in range(TABLE_ROWS))
    steps = (
        {"shelf.py": CODE},
        {"test_shelf.py": TEST},
        {"loans.csv": f"book,shelf,year\n{rows}\n"},
        {"README.md": README, ".hilt/settings.yaml": SETTINGS, ".hilt/short_log.py": HOOK},
    )
    for message, files in zip(COMMITS, steps, strict=True):
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        _git(root, "add", "-A")
        _git(root, "-c", "user.name=Demo", "-c", "user.email=demo@example.com", "commit", "-q", "-m", message)


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, timeout=30)  # noqa: S607 - git of the PATH with fixed arguments
