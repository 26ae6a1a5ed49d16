"""How a failed MCP exchange is told to the model: which server, why, what next; no raw transport text."""

from collections.abc import Callable
from typing import Final

from hilt.ports.mcp import Fault, McpFault

PEER_TEXT_MAX_CHARS: Final = 10_000
LOG_TEXT_MAX_BYTES: Final = 200


class CallFailedError(Exception):
    """A request to a server failed; `text` is for the model, `code` the server's where it declared the error."""

    def __init__(self, text: str, *, code: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


def unavailable(server: str, *, next_try_s: float | None = None) -> CallFailedError:
    """The server cannot be reached; `next_try_s` says in how many seconds it is tried again."""
    text = f'mcp call failed: MCP server "{server}" unavailable after reconnect'
    return CallFailedError(text if next_try_s is None else f"{text}; next try in {max(1, round(next_try_s))} s")


def outcome_unknown(server: str, subject: str, cause: str = "") -> CallFailedError:
    """The connection ended while a call ran that may not be sent again; `cause` is what a process said of its end."""
    text = (
        f'mcp call failed: the connection to MCP server "{server}" ended while {subject!r} ran;'
        " its outcome is unknown, and nothing was sent again"
    )
    return CallFailedError(f"{text}: {cause[:PEER_TEXT_MAX_CHARS]}" if cause else text)


def shown_once(server: str, subject: str, fault: McpFault, *, redact: Callable[[str], str]) -> CallFailedError:
    """A fault that is the answer to this call; the server stays in use."""
    said = redact(fault.text)[:PEER_TEXT_MAX_CHARS]
    if fault.fault is Fault.CLOSED:
        return CallFailedError(f'mcp call failed: the connection to MCP server "{server}" was closed meanwhile')
    if fault.fault is Fault.PROTOCOL:
        return CallFailedError(f'mcp call failed: MCP server "{server}" gave {subject!r} no usable answer: {said}')
    number = f"error {fault.code}" if fault.code is not None else "an error"
    if fault.status is not None:
        number = said if fault.code is None else f"{number} (HTTP {fault.status})"
    text = f'MCP server "{server}" answered {subject!r} with {number}'
    if said and said != number:
        text = f"{text}: {said}"
    if fault.retry_after_s is not None:
        text = f"{text}; it asks to wait {fault.retry_after_s:g} s"
    if fault.fault is Fault.SESSION_ENDED:
        text = f"{text}; the session has ended, the next call opens a new one"
    return CallFailedError(text, code=fault.code)


def log_text(text: str, limit_bytes: int = LOG_TEXT_MAX_BYTES) -> str:
    """Return at most `limit_bytes` of a text that is redacted already, on one line."""
    return " ".join(text.split()).encode("utf-8", "replace")[:limit_bytes].decode("utf-8", "ignore")
