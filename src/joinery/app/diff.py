"""The documents in sinks against the database that they come from, for Python."""

from __future__ import annotations

from pathlib import Path

from joinery.app.comparison import DiffOptions, comparisons
from joinery.app.project import Project, load
from joinery.audit.verdict import DiffReport


def diff(
    project: Project | str | Path,
    *products: str,
    database: str = "",
    sample: str = "",
    rate: float | None = None,
    resume: bool = False,
    repair: bool = False,
    wait: str = "1m",
) -> DiffReport:
    """Return which documents in the sinks are not those that the database gives, with proof.

    It runs beside the run, which goes on; it reads the database in short snapshots and the sinks
    as any reader does, and writes nothing into either. Needs no Spark session.

    Args:
        project: The project, its file, or a folder of them.
        products: Only these; without any, all with documents.
        database: The URL of the database, or of a standby of it; by default the source's own.
        sample: A share of the keys, such as `1%`; all by default.
        rate: Documents a second at most; None for no bound.
        resume: Go on from a comparison that was broken off.
        repair: Have the right documents sent again, by the run where one goes on; what is told
            then is what differs still.
        wait: How long the run is given to apply what the database shows.

    Raises:
        ProjectErrors: The file has problems.
        DiffError: A product cannot be compared.
        DiffFailedError: The database went away; `resume` goes on.
        SinkError: No sink of a product can be read.
    """
    spec = (project if isinstance(project, Project) else load(project)).spec
    options = DiffOptions(
        database=database, sample=sample, rate=rate, resume=resume, repair=repair, wait=wait
    )
    return DiffReport(tuple(each.run() for each in comparisons(spec, products, options)))
