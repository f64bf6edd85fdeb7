"""What each form sends, in a sentence, and where its parts are declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, OutboxForm
from joinery.plan.relation import Computed
from joinery.plan.search import SearchForm
from joinery.plan.stream import Stream
from joinery.project.mark import Path

if TYPE_CHECKING:
    from joinery.plan.product import Form


@dataclass(frozen=True, slots=True)
class Origin:
    """Where what a form sends comes from.

    Attributes:
        told: What is sent, in a sentence.
        by: The outputs of `by`.
        word: Under which key all other outputs are declared; empty where no key has them.
        keyed: Whether the key is that of its relation, or begins with it.
    """

    told: str
    by: tuple[Computed, ...] = ()
    word: str = ""
    keyed: bool = False

    def place_of(self, name: str) -> Path:
        """Return where an output is declared, below its product."""
        if any(each.name == name for each in self.by):
            return ("by",)
        return (self.word, name) if self.word else ()


def origin_of(form: Form) -> Origin:
    """Return where what a form sends comes from."""
    match form:
        case DocumentForm(root) | OutboxForm(root):
            return Origin(f"One document for each row of {root.relation.name}.", keyed=True)
        case AggregateForm(relation, by=by):
            told = f"One document for each group of rows of {relation.name}."
            return Origin(told, by, "values")
        case HistoryForm(relation):
            told = f"One document for each version of a row of {relation.name}."
            return Origin(told, word="track", keyed=True)
        case PatternForm(relation, by=by):
            told = f"One document for each match in the rows of {relation.name}."
            return Origin(told, by, "fields")
        case FoldForm(relation, by=by):
            told = f"One document for each state that events of {relation.name} make."
            return Origin(told, by, "state")
        case SearchForm(documents, queries):
            pair = f"a row of {queries.name} and one of {documents.name} that it finds"
            return Origin(f"One document for each pair of {pair}.", word="fields")
        case Stream(relation=relation):
            told = f"One event for each event of {relation.name} that is sent on."
            return Origin(told, keyed=True)
