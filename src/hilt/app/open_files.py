"""How many sessions fit into the files that the process may have open: each stored one that is open holds one."""

import contextlib
import logging
import resource

logger = logging.getLogger(__name__)

OTHERS = 1024


def sessions_that_fit(wanted: int) -> int:
    """Return how many sessions may be open at once, at most `wanted`; the process's own limit is raised for them.

    Where the system does not allow as many files as are needed, this is told at WARN.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + OTHERS
    if _less(soft, needed):
        raised = min(needed, hard) if _less(hard, needed) else needed
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
    if not _less(soft, needed):
        return wanted
    fit = max(soft - OTHERS, soft // 2)
    if fit < wanted:
        logger.warning("open_files_few limit=%d sessions=%d wanted=%d: see ulimit -n", soft, fit, wanted)
    return min(fit, wanted)


def _less(limit: int, needed: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < needed
