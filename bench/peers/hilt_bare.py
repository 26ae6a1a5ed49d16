"""hilt without rules, hooks and audit: find, check the arguments, decide, run, settle."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import hilt
from bench.peers import Function, Run
from bench.peers.hilt_agent import runner


@asynccontextmanager
async def turner(function: Function) -> AsyncIterator[Run]:
    """Yield a run through an agent with nothing but a catalog and a model."""
    yield runner(function, lambda catalog, model: hilt.Agent(catalog=catalog, model=model))
