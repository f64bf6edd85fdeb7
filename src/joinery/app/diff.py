"""The documents in sinks against the database that they come from, for Python."""

from __future__ import annotations

from joinery.app.comparison import DiffOptions, checked
from joinery.app.project import ProjectLike, project_of
from joinery.audit.error import DiffError
from joinery.audit.verdict import DiffReport, NotCompared
from joinery.delivery.action_log import ActionLog
from joinery.errors import SinkError
from joinery.project.audit import per_second


def diff(
    project: ProjectLike,
    *products: str,
    database: str = "",
    sample: str = "",
    rate: float | str | None = None,
    resume: bool = False,
    repair: bool = False,
    wait: str = "1m",
) -> DiffReport:
    """Return which documents in the sinks are not those that the database gives, with proof.

    It runs beside the run, which goes on; it reads the database in short snapshots and the sinks
    as any reader does, and writes nothing into either. Needs no Spark session.

    Args:
        project: The project, its file, or a folder of them; or an app.
        products: Only these; without any, all that are sent. Those without documents, such as
            groups, are among what could not be compared.
        database: The URL of the database, or of a standby of it; by default the source's own.
        sample: A share of the keys, such as `1%`; all by default.
        rate: Documents a second at most, a number or a text such as `100/s`; None for no bound.
        resume: Go on from a comparison that was broken off.
        repair: Have the right documents sent again, by the run where one goes on; what is told
            then is what differs still.
        wait: How long the run is given to apply what the database shows.

    Raises:
        ProjectErrors: The file has problems.
        DiffError: Nothing can be compared. Where only a part cannot be, the report says what.
        DiffFailedError: The database went away; `resume` goes on.
        SinkError: The sink cannot be read, and nothing else is to be compared.
    """
    spec = project_of(project).spec
    options = DiffOptions(
        database=database,
        sample=sample,
        rate=None if rate is None else _per_second(rate),
        resume=resume,
        repair=repair,
        wait=wait,
    )
    found, refused = checked(spec, products, options)
    if repair:
        named = dict.fromkeys(each.product.name for each in found)
        ActionLog(spec.checkpoint).note("diff --repair", named)
    parts = []
    for each in found:
        try:
            parts.append(each.run())
        except (DiffError, SinkError) as error:  # Its logs, or its sink, can no longer be read.
            if len(found) == 1:
                raise
            refused.append(NotCompared.of(each.product.name, each.kind, error))
    return DiffReport(tuple(parts), tuple(refused))


def _per_second(rate: float | str) -> float:
    found = per_second(f"{rate.removesuffix('/s')}/s") if isinstance(rate, str) else rate
    if found is None or found <= 0:
        raise DiffError(f'"{rate}" is not a rate', hint="Write it as 100/s, or as 100.")
    return found
