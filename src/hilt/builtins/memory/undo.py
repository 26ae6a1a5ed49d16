"""UndoMemory, UndoUserMemory: give a key the value before its last change."""

from hilt.builtins.memory.kind import Kind, VersionedKey, changed, one_subject, writer_of
from hilt.core.args import Args
from hilt.core.memory import check_key
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


class Undo:
    """Gives a key the value before its last change."""

    _args = Args(VersionedKey)
    read_only = False

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.spec = ToolSpec(
            kind.undo,
            f"Give one key of the {kind.what} the value that it had before its last change, a forgotten one too; "
            "returns key and version as JSON. Done again it goes one value further back. "
            f"Use it to take back a change that was wrong; {kind.inspect} shows the version. "
            f"Do not use it to remove a value ({kind.forget}). Limits: one key a call; ten versions are kept.",
            self._args.schema,
        )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the key to patterns."""
        return one_subject("key", self._args.decode(call).key)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Go back."""
        args = self._args.decode(call)
        check_key(args.key)
        with self._kind.telling_versions():
            version = await self._kind.of(env).undo(args.key, args.expected_version, writer=writer_of(env))
        return changed(call, args.key, version)
