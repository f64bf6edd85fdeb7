"""What of a node shapes its state: the rest may change over the same state."""

from __future__ import annotations

from dataclasses import replace

from joinery.solutions.spark_state.document_program import Fold, Interval
from joinery.solutions.spark_state.group_program import Group, LateProgram
from joinery.solutions.spark_state.interval_program import Judged
from joinery.solutions.spark_state.pattern_program import Pattern
from joinery.solutions.spark_state.program import Inserts, KernelNode, KernelProgram, Retract
from joinery.solutions.spark_state.search_program import Search
from joinery.solutions.spark_state.stream_program import CurrentLookup, Seen
from joinery.solutions.spark_state.words import kept_retention, kept_rows


def shaping(node: KernelNode, program: KernelProgram) -> KernelNode:
    """Return a node without what may change over the same state."""
    match node:
        case Group():
            return replace(node, late=_known_late(node, program))
        case Pattern():
            return replace(node, late=_known_late(node, program), most_tests=0)
        case Search():
            return replace(node, functions=(), most_characters=0)
        case Retract() | Inserts() if node.judged is not None:
            return replace(node, judged=_known_judged(node.judged), kept=None)
        case Fold() | Interval():
            return replace(node, kept=None)
        case CurrentLookup() | Seen():
            return replace(node, hidden=None)
        case _:
            return node


def _known_late(node: Group | Pattern, program: KernelProgram) -> LateProgram | None:
    """Return what state knows of late rows."""
    retention = kept_retention(program, node)
    return None if retention is None else LateProgram("correct", 0, 0, 0, retention)


def _known_judged(judged: Judged) -> Judged | None:
    """Return what state knows of rows that are over: a retention that is not the default."""
    kept = kept_rows(judged)
    return (
        None if kept is None else Judged(0, LateProgram("correct", 0, 0, 0, kept), 0, 0, 0, 0, ())
    )
