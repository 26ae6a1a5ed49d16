"""Section 6: servers that make it hard to leave."""

from tests.faults.matrix.table import expects
from tests.faults.matrix.trial import Trial, check


@expects("delete-404", "delete-405", "delete-500", "delete-slow")
async def odd_delete(trial: Trial) -> None:
    """One DELETE, and the close takes its time at most."""
    trial.warns = 0
    async with trial.mounted() as far:
        await far.works("a call")
    deletes = [record for record in far.log("received") if record.get("verb") == "DELETE"]
    check(len(deletes) == 1, f"{len(deletes)} requests to delete the session")
