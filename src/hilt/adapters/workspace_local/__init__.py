"""A workspace on a disk: one root, and roots that were added to it."""

from hilt.adapters.workspace_local.files import LocalWorkspace

__all__ = ["LocalWorkspace"]
