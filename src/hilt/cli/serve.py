"""`hilt serve`: sessions over HTTP."""

import math
import signal

import anyio
import click

from hilt.app.config import Config
from hilt.app.serve import GRACE_S, Serving, serve
from hilt.cli.command import HiltCommand
from hilt.cli.flags import FULL, Invocation, takes
from hilt.cli.output import print_json


@click.command(
    cls=HiltCommand,
    help="Serve sessions over HTTP, on this machine alone unless --listen says otherwise. SIGTERM ends it in order:"
    " no new prompt, runs go on for --grace seconds, every session is stored.",
    examples=(
        "hilt serve --model anthropic/claude-sonnet-4-5",
        "hilt serve --tools files,shell --cors-origin https://app.example.com",
        "HILT_AUTH_TOKEN=... hilt serve --listen 0.0.0.0:8081 --rate-limit 20",
        'curl -N localhost:8081/v1/sessions/ID/prompt -d \'{"text": "hello"}\'',
    ),
)
@click.option("--listen", metavar="HOST:PORT", help="Where to listen; 127.0.0.1:8081 by default.")
@click.option("--auth-token-file", metavar="FILE", help="Callers: a principal and its token a line.")
@click.option("--insecure-no-auth/--no-insecure-no-auth", default=False, help="Listen for others without any token.")
@click.option("--cors-origin", "cors_origins", metavar="ORIGIN", multiple=True, help="May call from a browser.")
@click.option("--rate-limit", type=float, metavar="N", help="Requests a second of each principal; any by default.")
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=GRACE_S,
    show_default=True,
    metavar="SECONDS",
    help="How long runs go on after SIGTERM.",
)
@takes(*FULL)
def command(invocation: Invocation, insecure_no_auth: bool, grace: float) -> None:
    """Serve until a signal comes."""
    if not math.isfinite(grace):
        raise click.UsageError(f"--grace takes a number of seconds, not {grace}")
    config = invocation.config()
    anyio.run(_serve, invocation, config, Serving(grace_s=grace, insecure_no_auth=insecure_no_auth))


async def _serve(invocation: Invocation, config: Config, serving: Serving) -> None:
    def listening(url: str) -> None:
        if invocation.json:
            print_json({"listening": url})
        elif not invocation.quiet:
            click.echo(f"Listening on {url}")

    stop = anyio.Event()
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            """Let the first signal end the service in order, and a second one at once."""
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
                async for _ in received:
                    if stop.is_set():
                        tasks.cancel_scope.cancel()
                    stop.set()

        tasks.start_soon(watch)
        await serve(config, serving, stop=stop, listening=listening)
        tasks.cancel_scope.cancel()
