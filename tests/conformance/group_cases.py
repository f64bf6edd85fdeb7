"""The conformance cases of groups that a store can run."""

from __future__ import annotations

from dataclasses import replace

from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.plan.support import missing
from joinery.testing.conformance import Case
from joinery.testing.conformance.aggregate_cases import (
    aggregate_cases,
    function_cases,
    late_cases,
)
from joinery.testing.conformance.project import load_text


def supported(product: Product) -> bool:
    """Return whether stores can run a product."""
    return missing(replace(product, solution="kv")) is None


def _runs(case: Case) -> bool:
    return all(map(supported, build_plan(load_text(case.project)).products))


CASES = [e for e in (*aggregate_cases(), *function_cases(), *late_cases()) if _runs(e)]
