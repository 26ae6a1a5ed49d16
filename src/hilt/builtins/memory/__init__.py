"""The category `memory`: earlier turns of the session, what is remembered of the project, and the model of the user."""

from hilt.builtins.memory.forget import Forget
from hilt.builtins.memory.inspection import Inspect
from hilt.builtins.memory.kind import PROJECT, USER, Kind
from hilt.builtins.memory.memory_search import MemorySearch
from hilt.builtins.memory.recall import Recall
from hilt.builtins.memory.remember import Remember
from hilt.builtins.memory.search import Search
from hilt.builtins.memory.undo import Undo
from hilt.ports.tool import Tool


def memory_tools() -> list[Tool]:
    """Return the tools of the family `memory`, in their order."""
    return [MemorySearch(), *_keyed(PROJECT)]


def user_model_tools() -> list[Tool]:
    """Return the tools of the family `user-model`, in their order."""
    return _keyed(USER)


def _keyed(kind: Kind) -> list[Tool]:
    return [Remember(kind), Recall(kind), Search(kind), Inspect(kind), Forget(kind), Undo(kind)]
