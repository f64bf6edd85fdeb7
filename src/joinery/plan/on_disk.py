"""What of a project needs its checkpoint on a disk, told where the checkpoint is elsewhere.

What is kept in files beside the checkpoint that are written in place (spools, stores of join
state) needs a file system.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path as FilePath

from joinery.errors import JoineryError, PlanError
from joinery.place.place import local_only
from joinery.plan.product import Plan, Product
from joinery.plan.stream import Stream, outputs_of
from joinery.project.captured import CAPTURED
from joinery.project.mark import Path
from joinery.project.product import ProjectSpec

_STATE_IN_SPARK = "spark-state"


@dataclass(frozen=True, slots=True)
class _Needs:
    """What needs a disk, as the beginning of a sentence, and the key that asks for it."""

    what: str
    path: Path


def disk_refusals(spec: ProjectSpec, plan: Plan) -> Iterator[JoineryError]:
    """Yield a problem for each part that needs a disk, where the checkpoint is on none."""
    checkpoint = spec.checkpoint
    if isinstance(checkpoint, FilePath):
        return
    of_products = chain.from_iterable(map(_of, outputs_of(plan)))
    for each in (*_of_project(spec), *of_products):
        told = local_only(each.what, checkpoint)
        yield PlanError(
            told.message,
            code="PLAN_NOT_YET",
            hint=f"{told.hint} Or leave this out.",
            location=spec.locate(each.path),
        )


def _of_project(spec: ProjectSpec) -> Iterator[_Needs]:
    if spec.run.real_time:
        yield _Needs("real-time mode", ("run", "real_time"))
    if spec.run.marks is not None:
        yield _Needs("run.marks", ("run", "marks"))
    for source in spec.sources:
        if source.kind in CAPTURED:
            yield _Needs(f'source "{source.name}" of {source.kind}', ("sources", source.name))
    for relation in spec.relations:
        if relation.personal is not None:
            path = ("relations", relation.name, "personal")
            yield _Needs(f'relation "{relation.name}" with personal columns', path)


def _of(product: Product) -> Iterator[_Needs]:
    kind = "stream" if isinstance(product.form, Stream) else "product"
    place: Path = (f"{kind}s", product.name)
    about = f'{kind} "{product.name}"'
    if product.outbox:
        yield _Needs(f"the outbox of {about}", (*place, "outbox"))
    if product.solution != _STATE_IN_SPARK:
        yield _Needs(f"solution: {product.solution} of {about}", (*place, "solution"))
    if any(each.spools for each in product.sinks):
        yield _Needs(f"spool: true of {about}", (*place, "sink"))
