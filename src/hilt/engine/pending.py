"""One call on its way through the funnel: what each stage found out, for the next one and for the record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hilt.core.errors import ErrorCode, ToolError
from hilt.core.permission import Decision, Effect, Subjects
from hilt.core.tool import ToolCall, ToolResult
from hilt.engine.catalog import Entry
from hilt.ports.tool import Tool


def own_copy(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return a copy of decoded arguments: whoever gets it cannot change what was decided and is recorded."""
    return {key: _copied(value) for key, value in arguments.items()}


def _copied(value: object) -> object:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


@dataclass(slots=True, kw_only=True)
class Target:
    """Another tool that a call acts for, with the call it will make and what patterns see of that."""

    entry: Entry
    call: ToolCall
    read_only: bool
    subjects: Subjects | None = None


@dataclass(slots=True, kw_only=True)
class Pending:
    """The state of one call; written by gate, dispatch and settle in turn.

    `asked` is the model's call as it stands in the transcript, `call` the one that executes. Times are seconds
    of the run's clock; `started` None means that it never executed; `rewritten` that a hook put
    another text into its result; `own_asks` that the rules on the tool itself ask, whatever those on its targets do.
    """

    asked: ToolCall
    call: ToolCall
    entered: float = 0.0
    entry: Entry | None = None
    read_only: bool = False
    targets: Sequence[Target] = ()
    subjects: Subjects | None = None
    decision: Decision | None = None
    own_asks: bool = False
    refusal: ToolError | None = None
    verdict: str = ""
    notes: list[str] = field(default_factory=list)
    hooks: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    hook_asks: tuple[str, str] | None = None
    started: float | None = None
    took: float = 0.0
    result: ToolResult | None = None
    code: str = ""
    extra: Mapping[str, object] | None = None
    rewritten: bool = False
    settled: bool = False
    recorded: bool = False

    @property
    def name(self) -> str:
        """The catalog name, or the name as the model gave it when no tool has it."""
        return self.call.name

    @property
    def tool(self) -> Tool | None:
        """The tool, None when none was found."""
        return None if self.entry is None else self.entry.tool

    @property
    def asks(self) -> bool:
        """Whether a person must be asked before it runs."""
        if self.refusal is not None:
            return False
        by_rule = self.decision is not None and self.decision.effect is Effect.ASK
        return by_rule or self.hook_asks is not None

    def refuse(self, error: ToolError) -> None:
        """Stop the call here; only the first refusal counts."""
        if self.refusal is None:
            self.refusal = error
            self.code = str(error.code)

    def fail(self, error: ToolError) -> None:
        """Put an error result of the harness in place of the result; it names the tool as the model does."""
        self.code = str(error.code)
        self.result = ToolResult.error(self.call.id, error.content(self.asked.name))

    def answered(self, result: ToolResult) -> None:
        """Take the tool's own result."""
        self.result = result
        self.code = ""

    def unfinished(self, *, ran: bool) -> None:
        """Give the result of a call that a cancel ended."""
        text = (
            "The run was cancelled while this call ran; its effects are unknown."
            if ran
            else "The run was cancelled before this call; it was not run."
        )
        self.fail(ToolError(ErrorCode.TOOL_ERROR, text))
