"""What the root user may not do: run without asking (PRM-44)."""

import os
from collections.abc import Mapping

from hilt.core.session import Mode


def is_contained(environment: Mapping[str, str]) -> bool:
    """Whether the operator says that what runs here can harm nothing outside."""
    return environment.get("HILT_SANDBOX") == "1"


def auto_refusal(*, contained: bool | None = None) -> str:
    """Return why mode `auto` is refused here, "" where it is not; without `contained` the environment says it."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if not root or (is_contained(os.environ) if contained is None else contained):
        return ""
    return f"mode {Mode.AUTO} is refused for the root user; HILT_SANDBOX=1 says that the process is contained"
