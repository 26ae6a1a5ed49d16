"""What the service counted, in the Prometheus text format: runs by their end, tool calls by their outcome."""

from collections import Counter
from collections.abc import Mapping

from hilt.core.event import Event, RunResult, RunStart, ToolSettled

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts what runs emit; a receiver of events."""

    def __init__(self) -> None:
        self.started = 0
        self.ended: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()

    def take(self, event: Event) -> None:
        """Receive one event of any session."""
        match event.body:
            case RunStart():
                self.started += 1
            case RunResult() as result:
                self.ended[str(result.stop_reason)] += 1
            case ToolSettled() as settled:
                self.calls[settled.code or ("error" if settled.result.is_error else "ok")] += 1
            case _:
                pass

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Return everything; `gauges` are further values by name, each with what it is."""
        lines = [
            *_head("hilt_runs_started_total", "counter", "Prompts that were taken."),
            f"hilt_runs_started_total {self.started}",
            *_head("hilt_runs_total", "counter", "Runs that ended, by stop reason."),
            *(f'hilt_runs_total{{stop_reason="{key}"}} {count}' for key, count in sorted(self.ended.items())),
            *_head("hilt_tool_calls_total", "counter", "Tool calls that were settled, by outcome."),
            *(f'hilt_tool_calls_total{{outcome="{key}"}} {count}' for key, count in sorted(self.calls.items())),
        ]
        for name, (what, value) in gauges.items():
            lines += [*_head(name, "gauge", what), f"{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, what: str) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]
