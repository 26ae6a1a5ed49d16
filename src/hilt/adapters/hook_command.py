"""Hooks that are commands: the event as JSON on stdin, the answer by exit code and stdout."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from hilt.adapters._process import Completed, run_process
from hilt.core.errors import HookFailedError
from hilt.core.hook import (
    TIMEOUT_DEFAULT_S,
    HookAnswer,
    HookEvent,
    HookInput,
    OnFailure,
    event_json,
    parse_answer,
)

logger = logging.getLogger(__name__)

STDOUT_MAX_BYTES: Final = 1024 * 1024
STDERR_MAX_BYTES: Final = 64 * 1024

_BLOCKS: Final = 2
_TAKES_TEXT: Final = frozenset({HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT})


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandHook:
    """A hook that `/bin/sh -c` runs in the workspace; see `HookRunner`.

    `cwd` is the workspace's folder; `env` None inherits the environment.
    """

    name: str
    event: HookEvent
    command: str
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    match: tuple[str, ...] = ()
    timeout_s: float = TIMEOUT_DEFAULT_S
    on_failure: OnFailure | None = None

    async def run(self, hook_input: HookInput) -> HookAnswer:
        """See `HookRunner.run`; the command is killed with all its children at `timeout_s` too."""
        try:
            done = await run_process(
                ["/bin/sh", "-c", self.command],
                timeout_s=self.timeout_s,
                cwd=self.cwd,
                env=self.env,
                stdin=json.dumps(event_json(hook_input)).encode(),
                keep_bytes=(STDOUT_MAX_BYTES, STDERR_MAX_BYTES),
            )
        except OSError as exc:
            raise HookFailedError(f"it cannot be started: {exc.strerror}") from exc
        return self._answer(done)

    def _answer(self, done: Completed) -> HookAnswer:
        if done.timed_out:
            raise HookFailedError(f"it passed its deadline of {self.timeout_s:g} s")
        match done.returncode:
            case 0:
                return self._allowed(done)
            case code if code == _BLOCKS:
                reason = done.stderr.content.decode(errors="replace").strip()
                return HookAnswer(block=True, reason=reason or "exit code 2, without a word")
            case int(code) if code > 0:
                raise HookFailedError(f"it ended with exit code {code}")
            case int(code):
                raise HookFailedError(f"it was ended by signal {-code}")
            case _:
                raise HookFailedError("how it ended is not known")

    def _allowed(self, done: Completed) -> HookAnswer:
        if done.stdout.dropped:
            raise HookFailedError(f"it wrote more than {STDOUT_MAX_BYTES} bytes")
        message, found = _split(done.stdout.content.decode(errors="replace"))
        answer, unknown = parse_answer(_json(found), self.event) if found else (HookAnswer(), ())
        if unknown:
            logger.warning("hook_answer_has_unknown_keys hook=%s keys=%s", self.name, ", ".join(unknown))
        if message and self.event in _TAKES_TEXT:
            texts = (message, answer.additional_context)
            return replace(answer, additional_context="\n".join(text for text in texts if text))
        if message:
            logger.info("hook_message hook=%s text=%s", self.name, message)
        return answer


def _split(stdout: str) -> tuple[str, str]:
    """Return the text before the answer, and the answer: from the first line on that begins with `{`."""
    lines = stdout.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.lstrip("\ufeff \t").startswith("{"):
            return "".join(lines[:number]).strip(), "".join(lines[number:]).lstrip("\ufeff \t")
    return stdout.strip(), ""


def _json(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise HookFailedError("its answer is not one valid JSON object") from exc
    return value
