"""Products that join a group later: their nodes behind those of a ledger, told the rows that stand.

A Retract has the row of each key, so it can tell its rows to nodes that were not there when they
came, in one batch that reads nothing. What else a product needs is not in the state: rows that no
Retract keeps, columns that nobody needed, the order and the times of a log.

Invariant: no node that stood before hears of a node that is added, nor of what that is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from joinery.solutions.spark_state.document_program import (
    FanOut,
    Fold,
    Gather,
    Match,
    ToOne,
    Valid,
)
from joinery.solutions.spark_state.event_fold_program import EventFold
from joinery.solutions.spark_state.group_program import Group, LateProgram
from joinery.solutions.spark_state.ledger import Ledger, known_numbers, numbered
from joinery.solutions.spark_state.level import targets_of, targets_of_use
from joinery.solutions.spark_state.program import (
    DocumentNode,
    Inserts,
    KernelNode,
    KernelProgram,
    OwnUse,
    ParentUse,
    Retract,
    Root,
    Use,
    Versions,
)
from joinery.solutions.spark_state.search_program import Search
from joinery.solutions.spark_state.stream_program import StreamNode
from joinery.solutions.spark_state.versioning import History


@dataclass(frozen=True, slots=True)
class Telling:
    """Rows that are told to nodes which came after them.

    Attributes:
        batch: The batch that tells them; it reads nothing that is new.
        retracts: The numbers of the Retracts that have them.
        first: The lowest number of the nodes that are told.
        part: The part of the program for which sources are read again, up to the checkpoint's
            positions; None if none are.
        anew: The products that were there before, and changed or were away: what they sent is
            replaced.
    """

    batch: int
    retracts: tuple[int, ...]
    first: int
    part: int | None = None
    anew: tuple[str, ...] = ()

    def products(self, ledger: Ledger) -> frozenset[str]:
        """Return the products that are built, by the ledger of the program."""
        return frozenset(name for each in ledger.nodes[self.first :] for name in each.products)


@dataclass(frozen=True, slots=True)
class Addition:
    """How a program with products that a checkpoint does not have goes on from it.

    Attributes:
        program: It with the numbers of the ledger, new nodes behind them; None where it cannot.
        retracts: The numbers of the Retracts that tell their rows.
        why: What is in the way, in words.
    """

    program: KernelProgram | None
    retracts: tuple[int, ...] = ()
    why: tuple[str, ...] = ()


def add(program: KernelProgram, ledger: Ledger) -> Addition:
    """Return how a program, lowered to keep what a ledger has, goes on with products added.

    One that has products of the ledger in another way than the ledger is refused: they would be
    built again.
    """
    ours = Ledger.of(program)
    nodes = [each for each in program.nodes if not isinstance(each, StreamNode)]
    if ours is None:
        raise ValueError("a program of streams has no ledger")
    numbers = known_numbers(program, ours, ledger)
    new = [place for place in range(len(nodes)) if place not in numbers]
    shift = ledger.levels - program.levels
    joined = _Joined(program, nodes, frozenset(new), ledger.products)
    levels = {place: ledger.nodes[number].level for place, number in numbers.items()}
    levels |= {place: nodes[place].level + shift for place in new}
    others = {name for each in new for name in ours.nodes[each].products} & ledger.products
    changed = (_changed(each) for each in sorted(others))
    why = tuple(dict.fromkeys((*changed, *joined.in_the_way(), *joined.too_deep(levels))))
    if why:
        return Addition(None, why=why)
    numbers |= {place: len(ledger.nodes) + number for number, place in enumerate(new)}
    retracts = tuple(sorted(numbers[place] for place in joined.senders()))
    return Addition(numbered(program, numbers, ledger), retracts)


def read_again(program: KernelProgram, ledger: Ledger, products: Collection[str]) -> Addition:
    """Return how a program goes on whose new products are a part that the sources are read for.

    Args:
        program: It was lowered to keep what the ledger has, with a part that this does not have.
        ledger: What the checkpoint has.
        products: Those of the new part.
    """
    ours = Ledger.of(program)
    if ours is None:
        raise ValueError("a program of streams has no ledger")
    numbers = known_numbers(program, ours, ledger)
    new = [place for place in range(len(program.nodes)) if place not in numbers]
    others = {name for each in new for name in ours.nodes[each].products} - {*products}
    shift = ledger.levels - program.levels
    why = [_changed(each) for each in sorted(others)]
    why += [
        _by_time(program.nodes[each].name) for each in new if not _is_of_log(program.nodes[each])
    ]
    deepest: dict[str, int] = {}
    for each in (one for one in new if not isinstance(program.nodes[one], Inserts)):
        for name in ours.nodes[each].products:
            level = program.nodes[each].level + shift
            deepest[name] = min(level, deepest.get(name, level))
    why += [
        _nested(name, needed=ledger.levels + 1 - level, levels=ledger.levels)
        for name, level in sorted(deepest.items())
        if level < 1
    ]
    if why:
        return Addition(None, why=tuple(dict.fromkeys(why)))
    numbers |= {place: len(ledger.nodes) + number for number, place in enumerate(new)}
    return Addition(numbered(program, numbers, ledger))


@dataclass(frozen=True, slots=True)
class _Joined:
    """A program, the places of its nodes that are new, and the products that are not."""

    program: KernelProgram
    nodes: Sequence[DocumentNode]
    new: frozenset[int]
    known: frozenset[str]

    def senders(self) -> list[int]:
        """Return the nodes that stood before and send to new ones."""
        return [
            place
            for place, node in enumerate(self.nodes)
            if place not in self.new and self.new & {*targets_of(node)}
        ]

    def in_the_way(self) -> Iterator[str]:
        """Yield what new nodes need that the state does not have."""
        made = {
            each.relation: self.program.products[each.product].name for each in self.program.reads
        }
        for route in self.program.routes:
            if route.node in self.new:
                product = made.get(route.relation)
                if product is None or product in self.known:
                    yield _unkept(self.program.relations[route.relation].name)
        for place in self.senders():
            node = self.nodes[place]
            if not isinstance(node, Retract) or node.judged is not None or node.kept is not None:
                yield _unkept(node.name)
            elif any(_is_timed(each) and self.new & {*targets_of_use(each)} for each in node.uses):
                yield _by_time(node.name)
        for place in sorted(self.new):
            node = self.nodes[place]
            if isinstance(node, Inserts):
                yield _unkept(node.name)
            elif not _is_of_rows(node):
                yield _by_time(node.name)

    def too_deep(self, levels: Mapping[int, int]) -> Iterator[str]:
        """Yield the nodes for which the chain of the checkpoint is too short."""
        for place in sorted(self.new):
            if levels[place] < 1 and not isinstance(self.nodes[place], Inserts):
                yield _deep(self.nodes[place].name)
        for place in self.senders():
            for each in self.new & {*targets_of(self.nodes[place])}:
                if levels[place] >= levels[each]:
                    yield _deep(self.nodes[each].name)


def _is_timed(use: Use) -> bool:
    return isinstance(use, OwnUse | ParentUse) and use.time is not None


def _is_of_rows(node: DocumentNode) -> bool:
    """Return whether what a node knows depends on the rows that there are, and on nothing else."""
    match node:
        case Group():
            return node.late is None
        case Fold() | Retract():
            return node.kept is None
        case Search():
            return node.retroactive
        case ToOne() | Match() | FanOut() | Gather() | Root():
            return True
        case _:
            return False


def _is_of_log(node: KernelNode) -> bool:
    """Return whether what a node knows depends on the records of logs, however they are cut."""
    match node:
        case Inserts() | Retract():
            return node.judged is None and node.kept is None
        case Group():
            return node.late is None or _forgets_nothing(node.late)
        case EventFold():
            return node.wait_micros == 0
        case History() | Versions() | Valid():
            return True
        case _:
            return not isinstance(node, StreamNode) and _is_of_rows(node)


def _forgets_nothing(late: LateProgram) -> bool:
    return late.rows == "correct" and late.retention_micros < 0


def _changed(product: str) -> str:
    return f'product "{product}" was changed'


def _unkept(relation: str) -> str:
    return f'the state does not keep the rows of relation "{relation}" as they are read now'


def _by_time(name: str) -> str:
    return f'"{name}" goes by the order or the times of its log, which the state does not have'


def _nested(product: str, *, needed: int, levels: int) -> str:
    return (
        f'"{product}" needs {needed} levels of joins, and the state was made for {levels}: an embed'
        " below another takes one more, and so does a list with a limit"
    )


def _deep(name: str) -> str:
    return f'"{name}" needs its rows on an earlier level than the state has them'
