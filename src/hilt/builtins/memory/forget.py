"""ForgetMemory, ForgetUserMemory: take the value of a key away."""

from hilt.builtins.memory.kind import Kind, VersionedKey, changed, one_subject, writer_of
from hilt.core.args import Args
from hilt.core.memory import check_key
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


class Forget:
    """Takes the value of a key away."""

    _args = Args(VersionedKey)
    read_only = False

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.spec = ToolSpec(
            kind.forget,
            f"Take the value of one key out of the {kind.what}; returns key and version as JSON. "
            f"Use it when a value is wrong or the user wants it gone; {kind.inspect} shows the version. "
            f"Do not use it to change a value ({kind.remember}). "
            f"Limits: one key a call; {kind.undo} brings the value back while ten versions are kept.",
            self._args.schema,
        )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the key to patterns."""
        return one_subject("key", self._args.decode(call).key)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Forget."""
        args = self._args.decode(call)
        check_key(args.key)
        with self._kind.telling_versions():
            version = await self._kind.of(env).forget(args.key, args.expected_version, writer=writer_of(env))
        return changed(call, args.key, version)
