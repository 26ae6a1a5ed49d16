"""`python -m hilt.faults`: lists the entries of the kit, or runs one."""

import sys

from hilt.faults.arguments import LIST, as_json, as_text, asked_for, parser, port_of
from hilt.faults.serve import run
from hilt.faults.setup import UsageError
from hilt.faults.table import ENTRIES


def main() -> int:
    """Do what the arguments say; 2 for arguments that cannot be followed."""
    parsed = parser().parse_args()
    if parsed.name == LIST:
        entries = list(ENTRIES.values())
        sys.stdout.write(as_json(entries) if parsed.json else as_text(entries))
        return 0
    try:
        entry, setup = asked_for(parsed)
        run(entry, setup, port=port_of(parsed))
    except (UsageError, OSError) as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
