"""How commands and flags read: the nearest name for an unknown one, switches in four spellings, examples in help."""

from collections.abc import Sequence
from difflib import get_close_matches

import click


def nearest(name: str, known: Sequence[str]) -> str:
    """Return a half sentence that names what is nearest to `name`, "" where nothing is near."""
    found = get_close_matches(name, known, n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def plain_switches(
    params: Sequence[click.Parameter], args: Sequence[str], ctx: click.Context | None = None
) -> list[str]:
    """Return the arguments with `--x=true`, `--x=false` and the like written as `--x` or `--no-x`.

    Raises:
        click.UsageError: A switch has another value.
    """
    spelling: dict[str, tuple[str, str]] = {}
    for param in params:
        if isinstance(param, click.Option) and param.is_flag and param.secondary_opts:
            on, off = param.opts[0], param.secondary_opts[0]
            spelling |= {on: (on, off), off: (off, on)}
    out: list[str] = []
    for position, arg in enumerate(args):
        if arg == "--":
            return out + list(args[position:])
        name, given, value = arg.partition("=")
        if not given or name not in spelling:
            out.append(arg)
        elif value.lower() in ("true", "false"):
            out.append(spelling[name][value.lower() == "false"])
        else:
            raise click.UsageError(f"{name} is true or false, not {value!r}", ctx)
    return out


class HiltCommand(click.Command):
    """A command whose help ends with examples and whose switches have four spellings."""

    def __init__(self, *args: object, examples: Sequence[str] = (), **attributes: object) -> None:
        super().__init__(*args, **attributes)  # type: ignore[arg-type]  # what click takes, passed through
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments after the switches are written plainly."""
        return super().parse_args(ctx, plain_switches(self.params, args, ctx))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"  {line}\n")


class HiltGroup(click.Group):
    """A group of commands that says which name is nearest to an unknown one."""

    command_class = HiltCommand

    def __init__(self, *args: object, examples: Sequence[str] = (), **attributes: object) -> None:
        super().__init__(*args, **attributes)  # type: ignore[arg-type]  # what click takes, passed through
        self.examples = tuple(examples)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names."""
        name = args[0]
        if not name.startswith("-") and name not in self.list_commands(ctx):
            hint = nearest(name, self.list_commands(ctx))
            raise click.UsageError(f"no command {name!r} in {ctx.command_path!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"  {line}\n")
