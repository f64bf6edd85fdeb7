"""The runs of this process: how one is started, and which go on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from joinery.app.project import Project, ProjectLike, project_of
from joinery.delivery.action_log import ActionLog
from joinery.errors import suggesting
from joinery.model.batch import BatchProgress
from joinery.model.warning import RunWarning
from joinery.plan.stream import outputs_of
from joinery.project.product import with_solution
from joinery.solutions.auto import choose

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.spark.batch.run import Run


def check_sourced(project: Project, products: Collection[str] = ()) -> None:
    """Refuse to run what reads a relation that was declared with a DataFrame.

    Raises:
        FrameError: A product or stream does.
    """
    for each in outputs_of(project.plan) if project.framed else ():
        framed = [one.name for one in each.relations if one.name in project.framed]
        if framed and (not products or each.name in products):
            from joinery.spark.frames.frame import FrameError

            raise FrameError(
                f'"{each.name}" reads "{framed[0]}", which was declared with a DataFrame',
                detail="A run reads sources.",
                hint="Declare it without frame=…, or take a stream's .to_dataframe(),"
                " a product's .documents(…).",
            )


@suggesting
def run(
    spark: SparkSession,
    project: ProjectLike,
    *,
    solution: str | None = None,
    once: bool = False,
    until_closed: bool = False,
    products: str | Sequence[str] = (),
    rebuild: bool = False,
    restored: bool = False,
    on_batch: Callable[[BatchProgress], None] = lambda batch: None,
    on_warning: Callable[[RunWarning], None] = lambda warning: None,
) -> Run:
    """Run a project; return the run, with `await_termination()`, `progress` and `stop()`.

    Args:
        spark: The session, which stays as it is: the run has a clone of it.
        project: As `load` gives it; or its file, or an app.
        solution: Instead of what its products name.
        once: Read what there is, then end; else go on as changes arrive.
        until_closed: With `once`: at the end, send the windows that are still open, too.
        products: The names of those to run, or the only one; empty means all.
        rebuild: Read everything again, beside a run that may go on; then take its place, and end.
        restored: Go on from checkpoints that were put back from a backup, which a run refuses.
        on_batch: Called for each batch once it is through.
        on_warning: Called with each warning, once.

    Raises:
        SessionError: The session is of Spark Connect, or was stopped.
        JoineryError: The project cannot run, or another run holds its checkpoint.

    Example:
        jn.run(spark, jn.load("joinery.yaml"), once=True).await_termination()
    """
    from joinery.spark.batch.run import run as run_in

    declared = project_of(project)
    spec = declared.spec if solution is None else with_solution(declared.spec, solution)
    spec, _ = choose(spec)
    if spec != declared.spec:
        declared = Project.of(spec, framed=declared.framed)
    declared.ask(spark)
    chosen = (products,) if isinstance(products, str) else tuple(products)
    check_sourced(declared, chosen)
    started = run_in(
        spark,
        declared,
        once=once,
        until_closed=until_closed,
        products=chosen,
        rebuild=rebuild,
        restored=restored,
        on_batch=on_batch,
        on_warning=on_warning,
    )
    if rebuild:
        ActionLog(spec.checkpoint).note("run --rebuild", chosen)
    if spec.run.audit is not None and not (once or rebuild):
        from joinery.app.auditor import start_auditor

        start_auditor(spec, declared.plan, chosen, started)
    return started


def runs() -> tuple[Run, ...]:
    """Return the runs of this process that have not ended, in the order of their starts.

    So a run can be stopped whose variable is gone, such as that of a notebook's cell that was
    run again: `[each.stop() for each in jn.runs()]`.
    """
    from joinery.spark.batch.going import going

    return going()
