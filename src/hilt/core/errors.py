"""Every error of hilt, sorted by who must read it.

```text
HiltError
├── ToolError         the model reads it: one error result with a code, the run goes on
├── RequestError      the caller of a session reads it: has a stable code
│   ├── SessionNotFoundError   not_found
│   ├── SessionBusyError       busy
│   └── ConflictError          conflict
├── ConfigError       the operator or embedder reads it: names source and key
│   ├── InvalidSpecError       a tool's name, schema or shape is wrong
│   └── DuplicateToolError     a name is taken
├── UnreachableError  a required server or service does not answer
├── ModelError        the model's provider failed; says whether another try can help
├── HookFailedError   a hook gave no usable answer
└── HarnessFault      we read it: the run stops, the traceback is logged
outside the tree: CatalogFault (RuntimeError), so that no handler for expected errors swallows it
```
"""

import json
from enum import StrEnum
from typing import Self


class ErrorCode(StrEnum):
    """Codes of the error results that the harness makes."""

    TOOL_NOT_FOUND = "tool_not_found"
    TOOL_UNAVAILABLE = "tool_unavailable"
    INVALID_ARGUMENTS = "invalid_arguments"
    EXECUTION_FAILED = "execution_failed"
    TIMEOUT = "timeout"
    ACCESS_DENIED = "access_denied"
    RESULT_TOO_LARGE = "result_too_large"
    TOOL_ERROR = "tool_error"


class HiltError(Exception):
    """Root of the errors that hilt raises on purpose."""


class ToolError(HiltError):
    """A failure that the model reads; `reason` fills the fixed text of its code (dispatch.md section 7)."""

    def __init__(self, code: ErrorCode, reason: str, *, data: object = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.data = data

    @classmethod
    def invalid_arguments(cls, text: str) -> Self:
        """The arguments do not fit; `text` says where and what was expected."""
        return cls(ErrorCode.INVALID_ARGUMENTS, text)

    @classmethod
    def not_found(cls, name: str, near: tuple[str, ...] = ()) -> Self:
        """No tool has this name; `near` are up to three visible names like it."""
        hint = f". Did you mean {', '.join(repr(n) for n in near[:3])}?" if near else ""
        return cls(ErrorCode.TOOL_NOT_FOUND, f"{name}{hint}")

    @classmethod
    def unavailable(cls, reason: str) -> Self:
        """The tool exists and cannot be used now."""
        return cls(ErrorCode.TOOL_UNAVAILABLE, reason)

    @classmethod
    def execution_failed(cls, message: str) -> Self:
        """The tool ran and failed."""
        return cls(ErrorCode.EXECUTION_FAILED, message)

    @classmethod
    def timeout(cls, milliseconds: int) -> Self:
        """The deadline passed after `milliseconds`."""
        return cls(ErrorCode.TIMEOUT, str(milliseconds))

    @classmethod
    def access_denied(cls, reason: str) -> Self:
        """Policy forbids the call; the reason names what denied."""
        return cls(ErrorCode.ACCESS_DENIED, reason)

    @classmethod
    def other(cls, text: str) -> Self:
        """Any other failure: the text stands alone."""
        return cls(ErrorCode.TOOL_ERROR, text)

    def message(self, tool: str) -> str:
        """Return the fixed text of the code, filled."""
        match self.code:
            case ErrorCode.TOOL_NOT_FOUND:
                return f"Tool not found: {self.reason}"
            case ErrorCode.TOOL_UNAVAILABLE:
                return f"Tool '{tool}' is currently unavailable: {self.reason}"
            case ErrorCode.INVALID_ARGUMENTS:
                return f"Invalid arguments for tool '{tool}': {self.reason}"
            case ErrorCode.EXECUTION_FAILED:
                return f"Tool execution failed: {self.reason}"
            case ErrorCode.TIMEOUT:
                return f"Tool '{tool}' timed out after {self.reason}ms"
            case ErrorCode.ACCESS_DENIED:
                return f"Tool '{tool}' is not allowed by policy: {self.reason}"
            case _:
                return self.reason

    def content(self, tool: str) -> str:
        """Return the JSON text of the error result: `error`, `message` and, where given, `data`."""
        body: dict[str, object] = {"error": str(self.code), "message": self.message(tool)}
        if self.data is not None:
            body["data"] = self.data
        return json.dumps(body, ensure_ascii=False)


class RequestError(HiltError):
    """A request on a session is refused; `code` is stable (sessions.md section 5)."""

    code = "bad_request"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class SessionNotFoundError(RequestError):
    """No session has this id."""

    code = "not_found"


class SessionBusyError(RequestError):
    """The session runs another prompt."""

    code = "busy"


class ConflictError(RequestError):
    """The session's state does not admit the request."""

    code = "conflict"


class ConfigError(HiltError):
    """Settings or start-up code are wrong; names the source (file, flag, variable) and the key."""

    def __init__(
        self, message: str, *, source: str | None = None, key: str | None = None, line: int | None = None
    ) -> None:
        where = f"{source}:{line}" if source and line else source
        prefix = ": ".join(part for part in (where, key) if part)
        super().__init__(f"{prefix}: {message}" if prefix else message)
        self.source = source
        self.key = key
        self.line = line
        self.reason = message


class InvalidSpecError(ConfigError):
    """A tool cannot be registered as it is."""


class DuplicateToolError(ConfigError):
    """A tool's name is taken; the catalog is unchanged."""

    def __init__(self, name: str, holder: str) -> None:
        super().__init__(f"the name is taken by a tool of {holder}", key=name)
        self.name = name
        self.holder = holder


class UnreachableError(HiltError):
    """A required server or service cannot be reached."""


class ModelError(HiltError):
    """The model's provider failed.

    `transient` says that the same request may succeed later (429, 5xx, connection); `retry_after_s` is the
    provider's own word on when, in seconds.
    """

    def __init__(
        self,
        message: str,
        *,
        transient: bool = False,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.transient = transient
        self.status = status
        self.retry_after_s = retry_after_s


class HookFailedError(HiltError):
    """A hook crashed, passed its deadline or gave an answer that is not of the shape."""


class HarnessFault(HiltError):
    """hilt itself or its host is broken; the run stops."""


class CatalogFault(RuntimeError):
    """Start-up code registered a name twice."""
