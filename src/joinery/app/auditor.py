"""Documents compared with what they should be, forever, beside the run that sends them.

Limits: it is a thread of the run's own process, so a high rate costs the run time; a comparison
with its own memory and processor is `joinery diff`, by a cron job.

Invariant: nothing that happens here ends a run or holds up a batch; it ends with the run, at its
next wait.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from joinery.app.comparison import DiffOptions, ProductComparison, comparisons
from joinery.audit.found import Found
from joinery.audit.verdict import ProductDiff
from joinery.errors import JoineryError, SpecError
from joinery.model.audit import AuditProgress
from joinery.observe.audit_note import AuditNote
from joinery.plan.product import DocumentForm, Plan
from joinery.project.audit import AuditSpec, per_second
from joinery.project.product import ProjectSpec

log = logging.getLogger("joinery.run")
_BETWEEN_S = 60.0


class Audited(Protocol):
    """A run."""

    def audits(self, told: AuditProgress) -> None:
        """Take up in its progress what was found by now."""

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended; return False if `timeout` seconds passed before."""


class _EndedError(Exception):
    """The run has ended."""


class Auditor(threading.Thread):
    """Compares until its run ends.

    Args:
        spec: The project.
        audit: How.
        products: Those that are run; empty means all.
        run: The run, started.
        between_s: How long it rests before it starts over.
    """

    def __init__(
        self,
        spec: ProjectSpec,
        audit: AuditSpec,
        products: Sequence[str],
        run: Audited,
        *,
        between_s: float,
    ) -> None:
        super().__init__(name="joinery-audit", daemon=True)
        self._spec, self._products = spec, tuple(products)
        self._run, self._between_s = run, between_s
        self._options = DiffOptions(
            database=audit.database,
            rate=per_second(audit.rate),
            resume=True,
            pause=self._pause,
            by="run",
            told=self._tell,
        )
        self._comparisons = list[ProductComparison]()
        self._found: dict[tuple[str, str], AuditProgress] = {}
        self._before: dict[tuple[str, str], int] = {}

    def run(self) -> None:
        """Compare one product after the other, and start over."""
        try:
            self._pause(self._between_s)  # So that the run can begin.
            self._begin()
            while self._comparisons:
                self._compare()
                self._pause(self._between_s)
        except (_EndedError, JoineryError):
            return  # The run has ended, or failed, and says so itself.

    def _begin(self) -> None:
        """Look what can be compared, and say once what cannot."""
        for name in self._products:
            try:
                self._comparisons += comparisons(self._spec, name, self._options)
            except JoineryError as error:
                why = {"product": name, "why": str(error)}
                log.warning("documents cannot be compared", extra=why)

    def _compare(self) -> None:
        for each in [*self._comparisons]:
            named = {"product": each.product.name}
            self._before.clear()
            try:
                found = each.run()
            except _EndedError:
                raise
            except SpecError as error:
                log.warning("documents cannot be compared", extra={**named, "why": str(error)})
                self._comparisons.remove(each)
            except (JoineryError, OSError) as error:
                log.warning("documents could not be compared", extra={**named, "why": str(error)})
            except Exception:  # A defect, or what a driver raises; the next round tries again.
                log.exception("documents could not be compared", extra=named)
            else:
                self._end(found)

    def _end(self, found: ProductDiff) -> None:
        """Tell what a comparison found."""
        wrong = len(found.differences)
        told = {"product": found.product, "sink": found.target, "compared": found.compared}
        told |= {"differ": wrong, "unsettled": len(found.unsettled)}
        if wrong:
            log.error("documents differ from what they should be", extra=told)
        else:
            log.info("documents compared", extra=told)
        self._tell(found.product, found.target, found)
        known = self._known(found.product, found.target)
        if wrong or not found.late:
            known = replace(known, differing=wrong, ended_at=time.time())
        self._put(replace(known, differences=known.differences + wrong))

    def _tell(self, product: str, target: str, found: Found | ProductDiff) -> None:
        """Count the documents that were compared since the last call."""
        known = self._known(product, target)
        # Those that a comparison begins with were counted by the run that it was broken off in.
        before = self._before.get((product, target), found.compared)
        self._before[product, target] = found.compared
        self._put(replace(known, compared=known.compared + max(0, found.compared - before)))

    def _known(self, product: str, target: str) -> AuditProgress:
        """Return what was found by now; at first, by the comparison of all before this run."""
        known = self._found.get((product, target))
        if known is not None:
            return known
        told = AuditProgress(product=product, target=target)
        for note in AuditNote.of_product(self._spec.checkpoint, product):
            if note.target == target and note.share >= 1:
                told = replace(told, ended_at=note.ended_at, differing=note.differ)
        return told

    def _put(self, told: AuditProgress) -> None:
        self._found[told.product, told.target] = told
        self._run.audits(told)

    def _pause(self, seconds: float) -> None:
        if self._run.await_termination(seconds):
            raise _EndedError


def start_auditor(spec: ProjectSpec, plan: Plan, products: Sequence[str], run: Audited) -> None:
    """Begin to compare what a run sends, where its project asks for that."""
    if spec.run.audit is None:
        return
    documents = [each.name for each in plan.products if isinstance(each.form, DocumentForm)]
    names = [each for each in documents if not products or each in products]
    Auditor(spec, spec.run.audit, names, run, between_s=_BETWEEN_S).start()
