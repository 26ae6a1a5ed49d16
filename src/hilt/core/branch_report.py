"""What the model reads of the branches of a Parallel call, as JSON of limited size."""

import json
from collections.abc import Sequence
from typing import Final

from hilt.core.branch import Branch, Choice, Rating
from hilt.core.child import short
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.json_text import Keep, cut, shares

REPORT_CAP_BYTES: Final = 25_000
_ERROR_CHARS: Final = 300


def report_all(branches: Sequence[Branch], *, keep: Keep | None = None, note: str = "") -> str:
    """Return every branch in the order of the tasks: its result, or why it has none; `note` stands first.

    Long results are cut to what the others leave them, and `keep` makes the rest readable by ReadResult.
    """
    entries = [_entry(branch) for branch in branches]
    texts = [branch.child.output for branch in branches]
    body: dict[str, object] = {"note": note} if note else {}
    room = REPORT_CAP_BYTES - _bytes({**body, "results": [{**entry, "last_answer": ""} for entry in entries]})
    for entry, branch, text, part in zip(entries, branches, texts, shares(texts, budget_bytes=room), strict=True):
        if branch.succeeded or text:
            entry["result" if branch.succeeded else "last_answer"] = cut(text, part, keep=keep)
    return json.dumps({**body, "results": entries}, ensure_ascii=False)


def report_one(
    choice: Choice,
    branches: Sequence[Branch],
    *,
    keep: Keep | None = None,
    ratings: Sequence[Rating] = (),
    note: str = "",
) -> str:
    """Return the branch that was chosen, with its result and why, and how the others stand."""
    scores = {rating.number: rating.score for rating in ratings}
    (chosen,) = [branch for branch in branches if branch.number == choice.number]
    others: list[dict[str, object]] = []
    for branch in branches:
        if branch is not chosen:
            score = {"score": scores[branch.number]} if branch.number in scores else {}
            others.append({**_entry(branch), **score})
    body: dict[str, object] = {**_entry(chosen), "reason": short(choice.reason, _ERROR_CHARS), "others": others}
    if note:
        body["note"] = note
    result = cut(chosen.child.output, REPORT_CAP_BYTES - _bytes({**body, "result": ""}), keep=keep)
    return json.dumps({"result": result, **body}, ensure_ascii=False)


def all_failed(branches: Sequence[Branch]) -> ToolError:
    """Return the error of a call of which no branch gave anything; it holds the error of each."""
    told = "; ".join(f"task {branch.number}: {short(branch.error, _ERROR_CHARS)}" for branch in branches)
    entries = [_entry(branch) for branch in branches]
    return ToolError(ErrorCode.EXECUTION_FAILED, f"every branch failed. {told}", data={"results": entries})


def _entry(branch: Branch) -> dict[str, object]:
    entry: dict[str, object] = {"task": branch.number}
    if branch.child.id:
        entry["agent_id"] = branch.child.id
    entry["state"] = "failed" if branch.child.state == "completed" and not branch.succeeded else branch.child.state
    if branch.error:
        entry["error"] = short(branch.error, _ERROR_CHARS)
    return entry


def _bytes(body: object) -> int:
    return len(json.dumps(body, ensure_ascii=False).encode())
