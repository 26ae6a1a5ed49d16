"""What becomes of arguments that fit their schema."""

from hilt.core.frozen import frozen


@frozen(kw_only=False)
class Checked:
    """Arguments that fit, what was changed to make them fit, and warnings that came up for the first time."""

    arguments: dict[str, object]
    coercions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
