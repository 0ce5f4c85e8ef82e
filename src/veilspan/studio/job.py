"""One job as people see it: how far it is, what it costs to stop it, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from veilspan.studio import job_files as files


@dataclass(frozen=True)
class Job:
    """What is known of a job now.

    Attributes
    ----------
    id, request_id, dataset : str
        Which job, for which request of which account.
    stage : {"wait", "read", "charged", "fit", "report", "done", "failed", "cancelled"}
        How far it is.
    step, of : int
        Questions of the plan that were asked, and how many there are; 0 if that is not fixed.
    cancel_costs : bool
        Whether it was charged: to cancel it is then no saving.
    release_folder : Path or None
        The release, once it is whole.
    message : str
        Plain words about its end, for everybody.
    steward_message : str
        More words, which may depend on a cell: for the steward alone.
    warnings : tuple of str
        What its fit warned of, from released and public numbers: for everybody.
    started_at, ended_at : float or None
        By the clock, in seconds since 1970.
    """

    id: str
    request_id: str
    dataset: str
    stage: str
    step: int = 0
    of: int = 0
    cancel_costs: bool = False
    release_folder: Path | None = None
    message: str = ""
    steward_message: str = ""
    warnings: tuple[str, ...] = ()
    started_at: float | None = None
    ended_at: float | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.stage in files.ENDS
