"""Fakes for tests of hilt and of what is built on it; no shipped code imports them."""

from hilt.testing.manual_clock import ManualClock
from hilt.testing.scripted import ScriptedModel

__all__ = ["ManualClock", "ScriptedModel"]
