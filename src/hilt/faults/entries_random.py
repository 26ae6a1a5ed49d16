"""The entry of long runs: random messages."""

from hilt.faults.core import CallFault
from hilt.faults.entry import CALLS_ALWAYS, Entry, Setting
from hilt.faults.exchange import Exchange
from hilt.faults.mutation import Mutator
from hilt.faults.protocol import notification, request, result


class RandomMessages(CallFault):
    """Sends messages mutated from good ones before the answer of each call, and mutates some answers."""

    def fault(self, exchange: Exchange) -> None:
        """Send them; the n-th call always gets the same ones."""
        mutator = Mutator(f"{self.setup.text('seed')}-{exchange.nth}")
        answer = result(exchange.id, self.completed(exchange, self.honest(exchange)))
        progress = {"progressToken": exchange.id, "progress": exchange.nth}
        good = (
            answer,
            notification("notifications/progress", progress),
            notification("notifications/tools/list_changed"),
            request(f"ask-{exchange.nth}", "ping"),
        )
        for number in range(self.setup.count("count")):
            exchange.send_text(mutator.mutated(good[number % len(good)]))
        if mutator.chance(self.setup.number("share")):
            exchange.answer_text(mutator.mutated(answer))
        else:
            exchange.answer(answer)


ENTRIES = (
    Entry(
        name="random-messages",
        section=8,
        ids=("FLT-77",),
        summary="Sends seeded random messages, mutated from good ones, and mutates a share of its answers.",
        server=RandomMessages,
        settings=(
            *CALLS_ALWAYS,
            Setting(name="count", default="20", summary="mutated messages before each answer"),
            Setting(name="share", default="0.3", summary="share of answers that are mutated"),
        ),
    ),
)
