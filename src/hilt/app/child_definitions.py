"""Reads the definitions of child agents, once, before any session."""

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import anyio.to_thread

from hilt.adapters.child_dir import read_definitions
from hilt.app.config import Config
from hilt.app.skill_places import agent_places
from hilt.core.child_definition import ChildDefinition

logger = logging.getLogger(__name__)


async def load_definitions(config: Config, *, root: str) -> Mapping[str, ChildDefinition]:
    """Return the definitions of project and user by name; on equal names the project's counts, and a WARN says so.

    A project's count only if it is trusted and is the workspace `root` at all.
    """
    return await anyio.to_thread.run_sync(partial(_read, config, root))


def _read(config: Config, root: str) -> Mapping[str, ChildDefinition]:
    if config.workspace_root and os.path.realpath(config.workspace_root) != os.path.realpath(root):
        config = replace(config, trusted=False)
    found: dict[str, ChildDefinition] = {}
    for place in agent_places(config):
        try:
            read = read_definitions(place.path, label=place.shown)
        except FileNotFoundError:
            continue
        except OSError as exc:
            logger.warning("agent_definitions_left_out source=%s why=%s", place.shown, exc.strerror)
            continue
        for name in sorted(read.keys() & found.keys()):
            logger.warning("agent_definition_hidden file=%s/%s.md why=a stronger place defines it", place.shown, name)
        found = {**read, **found}
    return found
