"""The end of a command that failed: one line for people or one JSON document, and the exit code (cli.md section 4)."""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from errno import ENOSPC

import click

from hilt.app.load import process_environment
from hilt.app.secrets import redactor
from hilt.core.errors import (
    ConfigError,
    HarnessFault,
    HiltError,
    ModelError,
    RequestError,
    ToolError,
    UnreachableError,
)

logger = logging.getLogger(__name__)

USAGE, UNREACHABLE, INTERRUPTED, TERMINATED, REFUSED, LIMIT, FAILED = 2, 5, 130, 143, 4, 3, 1
PRECEDENCE = (USAGE, UNREACHABLE, INTERRUPTED, TERMINATED, REFUSED, LIMIT, FAILED)
"""Where several codes fit, the first of these is used."""

_FAILED_REQUESTS = frozenset({"busy", "conflict", "internal", "unavailable"})


class ExitError(HiltError):
    """A command ends with this code; "" as message means that everything is said already."""

    def __init__(self, code: int, message: str = "", *, name: str = "failed", hint: str = "") -> None:
        super().__init__(message)
        self.exit_code = code
        self.name = name
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a failed command says: exit code, a stable code, one line, what to do next."""

    exit_code: int
    code: str
    message: str
    hint: str = ""


def report(exc: BaseException, *, as_json: bool) -> int:
    """Tell the failure on standard error and return the exit code."""
    failure = min((failure_of(one) for one in _leaves(exc)), key=lambda f: PRECEDENCE.index(f.exit_code))
    if failure.message:
        click.echo(line_of(failure, as_json=as_json), err=True)
    return failure.exit_code


def line_of(failure: Failure, *, as_json: bool) -> str:
    """Return the one line that tells a failure, known secrets masked."""
    redact = redactor(process_environment()).redact
    message, hint = redact(" ".join(failure.message.split())), redact(failure.hint)
    if as_json:
        body = {"error": {"code": failure.code, "message": message, "hint": hint}}
        return json.dumps(body, ensure_ascii=False)
    return f"hilt: {message}" + (f" ({hint})" if hint else "")


def _leaves(exc: BaseException) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for inner in exc.exceptions:
            yield from _leaves(inner)
    else:
        yield exc


def failure_of(exc: BaseException) -> Failure:
    """Return what an exception means to the user of the command line."""
    match exc:
        case ExitError():
            return Failure(exit_code=exc.exit_code, code=exc.name, message=str(exc), hint=exc.hint)
        case click.exceptions.Exit():
            return Failure(exit_code=exc.exit_code, code="exit", message="")
        case click.Abort() | KeyboardInterrupt():
            return Failure(exit_code=INTERRUPTED, code="interrupted", message="interrupted")
        case click.UsageError():
            path = exc.ctx.command_path if exc.ctx is not None else "hilt"
            return Failure(exit_code=USAGE, code="usage", message=exc.format_message(), hint=f"see {path} --help")
        case click.ClickException():
            return Failure(exit_code=USAGE, code="usage", message=exc.format_message())
        case ConfigError():
            return Failure(exit_code=USAGE, code="config", message=str(exc))
        case RequestError():
            code = FAILED if exc.code in _FAILED_REQUESTS else USAGE
            return Failure(exit_code=code, code=exc.code, message=str(exc))
        case UnreachableError():
            return Failure(exit_code=UNREACHABLE, code="unreachable", message=str(exc))
        case ModelError() | ToolError() | HarnessFault():
            return Failure(exit_code=FAILED, code="failed", message=str(exc))
        case _:
            return _internal(exc)


def _internal(exc: BaseException) -> Failure:
    if isinstance(exc, BrokenPipeError):
        return Failure(exit_code=FAILED, code="closed", message="")
    if isinstance(exc, OSError) and exc.errno == ENOSPC:
        return Failure(exit_code=FAILED, code="failed", message="cannot write the output: no space left")
    logger.debug("command_failed", exc_info=exc)
    return Failure(
        exit_code=FAILED,
        code="internal",
        message=f"something in hilt itself failed: {type(exc).__name__}",
        hint="--log-level debug writes the traceback to the log",
    )


def worst(*codes: int) -> int:
    """Return the code that is used where several fit; 0 without one."""
    fitting = [code for code in PRECEDENCE if code in codes]
    return fitting[0] if fitting else 0
