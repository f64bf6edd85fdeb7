"""What is compared: the documents of one product in one sink; causes found, repair asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from joinery.app.against import Against, against_of, captured_source
from joinery.app.cause import Causes
from joinery.app.document_product import document_product
from joinery.app.logs import WhyError
from joinery.app.repair import Repair, lasting, notes_of
from joinery.app.state_cause import by_state
from joinery.audit.error import DiffError
from joinery.audit.found import Found, Pace
from joinery.audit.found_file import FoundFile, found_path
from joinery.audit.key import KeyTexts
from joinery.audit.look import Comparison
from joinery.audit.verdict import Difference, NotCompared, ProductDiff
from joinery.delivery.query_paths import QueryPaths
from joinery.errors import SinkError
from joinery.observe.audit_note import AuditNote
from joinery.observe.read_status import read_status
from joinery.place.place import numbers_in
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import Computed
from joinery.project.product import ProjectSpec
from joinery.project.quantity import given_duration_ms, given_share
from joinery.sinks.reader import DocumentReader, ReadsFromKey, make_reader


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
    """How documents are compared.

    Attributes:
        database: The URL of the database, or of a standby of it; by default the source's own.
        sample: A share of the keys, such as `1%`; all by default. It is the same keys each time.
        rate: Documents a second at most; None for no bound.
        resume: Go on from a comparison that was broken off.
        repair: Have the right documents sent again.
        wait: How long the run is given to apply what the database shows.
        pause: Waits, between chunks and looks.
        by: Who compares; another one's comparison is not gone on from.
        told: Called with the product, the sink and what was found of it, as it begins and goes on.
    """

    database: str = ""
    sample: str = ""
    rate: float | None = None
    resume: bool = False
    repair: bool = False
    wait: str = "1m"
    pause: Callable[[float], None] = time.sleep
    by: str = ""
    told: Callable[[str, str, Found], None] = lambda product, target, found: None

    @property
    def share(self) -> float:
        """The share of the keys, from 0 to 1.

        Raises:
            DiffError: The sample is not a share.
        """
        return given_share(str(self.sample), DiffError)

    @property
    def wait_s(self) -> float:
        """How long the run is given, in seconds.

        Raises:
            DiffError: It is not a duration.
        """
        return given_duration_ms(self.wait, DiffError) / 1000


def comparisons(spec: ProjectSpec, product: str, options: DiffOptions) -> list[ProductComparison]:
    """Return what is to be compared of a product: its documents in each of its sinks.

    Raises:
        DiffError: There is no such product, or it cannot be compared.
    """
    found = _comparable(spec, product)
    return [ProductComparison(spec, found, place, options) for place in range(len(found.sinks))]


def checked(
    spec: ProjectSpec, products: Sequence[str], options: DiffOptions
) -> tuple[list[ProductComparison], list[NotCompared]]:
    """Return what can be compared, looked at in its database and its sink, and what cannot.

    Args:
        spec: The project.
        products: Those that are named; without any, all that are sent.
        options: How.

    Raises:
        DiffError: Nothing can be compared, or an option cannot be meant.
        DatabaseError: A database does not let us in.
    """
    _ = options.share, options.wait_s
    found, refused = [], list[NotCompared]()
    errors = list[DiffError]()
    for name in products or _all_sent(spec):
        try:
            each = comparisons(spec, name, options)
            if not each:
                raise DiffError(f'product "{name}" has no sink whose documents could be compared')
        except DiffError as error:
            errors.append(error)
            refused.append(NotCompared.of(name, "", error))
            continue
        for one in each:
            try:
                one.check()
                found.append(one)
            except DiffError as error:
                errors.append(error)
                refused.append(NotCompared.of(name, one.kind, error))
    if not found:
        raise errors[0]
    return found, refused


class ProductComparison:
    """The comparison of one product's documents in one sink."""

    def __init__(
        self, spec: ProjectSpec, product: Product, place: int, options: DiffOptions
    ) -> None:
        self._spec, self._options = spec, options
        self.product, self._sink = product, product.sinks[place]
        self._repair = Repair(spec, product, place, options.wait_s)
        # Else the logs themselves are compared with, which tell no place of a database.
        self._placed = bool(options.database) or captured_source(spec, product) is not None
        self._checkpoint, self._scratch = spec.checkpoint, spec.scratch

    @property
    def kind(self) -> str:
        """The kind of the sink."""
        return self._sink.kind

    def check(self) -> None:
        """Look whether it can be compared: its columns with those of the database, its sink.

        Raises:
            DiffError: It cannot, or no run has sent anything yet.
            DatabaseError: The database does not let us in.
        """
        self._reader().close()
        checkpoint = QueryPaths.of(self._checkpoint, self.product.query).checkpoint
        if not numbers_in(checkpoint / "offsets"):
            raise DiffError(
                f'product "{self.product.name}" cannot be compared: it has never run',
                detail=f"{self._checkpoint} has no batch of it.",
                hint="Run it first: joinery run.",
            )
        self._against().close()

    def run(self) -> ProductDiff:
        """Compare, and return what was found."""
        begun = time.monotonic()
        options = self._options
        with self._against() as against, closing(self._reader()) as reader:
            file, tell = self._file(reader.target), partial(options.told, self.product.name)
            begun_with = (file.read() if options.resume else None) or Found()
            tell(reader.target, begun_with)

            def save(found: Found) -> None:
                file.write(found)
                tell(reader.target, found)

            comparison = Comparison(
                KeyTexts(self.product.root.relation),
                against.truth,
                reader,
                against.applied,
                pace=Pace(share=options.share, per_second=options.rate, pause=options.pause),
                found=begun_with,
                saved=save,
            )
            found, repaired = comparison.run(), None
            notes = self._find_causes(found, reader.target)
            if options.repair and found.differences:
                wrong, found.differences = found.differences, []
                outcome = self._repair.ask(wrong)
                comparison.look([each.key for each in wrong])
                found.differences = [_with_cause(each, wrong) for each in found.differences]
                repaired, notes = outcome.sent, [*notes, *notes_of(outcome), *lasting(wrong)]
            file.write(found, "ended")
        told = ProductDiff(
            product=self.product.name,
            target=reader.target,
            against=against.shown,
            frontier=against.frontier,
            compared=found.compared,
            again=found.again,
            differences=tuple(found.differences),
            unsettled=tuple(found.unsettled),
            unreadable=tuple(found.unreadable),
            position=found.position if self._placed else None,
            repaired=repaired,
            notes=tuple(notes),
            seconds=time.monotonic() - begun,
        )
        AuditNote(
            product=told.product,
            target=told.target,
            ended_at=time.time(),
            share=options.share,
            compared=told.compared,
            differ=len(told.differences),
            unsettled=len(told.unsettled),
            late=told.late,
        ).write(self._checkpoint)
        return told

    def _find_causes(self, found: Found, target: str) -> list[str]:
        if not found.differences:
            return []
        causes = Causes(self._spec, self.product, target, placed=self._placed)
        differences, opened, note = causes.of(found.differences)
        found.differences, unread = by_state(self._spec, self.product, differences)
        found.unsettled += opened
        return [each for each in (note, unread) if each]

    def _file(self, target: str) -> FoundFile:
        path = found_path(self._scratch, self.product.name, target, self._options.by)
        return FoundFile(
            path,
            {
                "sample": self._options.share,
                "key": self.product.root.relation.key,
                "ordered_by": "database" if self._placed else "logs",
            },
        )

    def _against(self) -> Against:
        options = self._options
        return against_of(
            self._spec, self.product, options.database, wait_s=options.wait_s, pause=options.pause
        )

    def _reader(self) -> DocumentReader:
        product, folder = self.product, self._spec.path_of(".")
        if self._kept_live():
            raise DiffError(
                f'product "{product.name}" cannot be compared: it is kept in real-time mode, which'
                " tells only at its commits what it has sent"
            )
        try:
            reader = make_reader(
                self._sink.kind,
                dict(self._sink.options),
                product=product.name,
                folder=folder,
                key=product.key,
                value=product.output,
            )
        except SinkError as error:
            raise DiffError(
                f'product "{product.name}" cannot be compared: {error.message}',
                detail=error.detail,
                hint=error.hint,
            ) from error
        for name in _renamed(product, reader):
            raise DiffError(
                f'product "{product.name}" cannot be compared: its field "{name}" is in no column'
                f" of {reader.target}, where that name is the key's"
            )
        return reader

    def _kept_live(self) -> bool:
        """Whether it is kept in real-time mode, by the project or by how its run was started."""
        if self._spec.run.real_time:
            return True
        told, _ = read_status(QueryPaths.of(self._checkpoint, self.product.query).status_file)
        return told is not None and told.live


def _renamed(product: Product, reader: DocumentReader) -> Iterator[str]:
    """Yield the fields that a target takes from its key, though they are something else."""
    taken = reader.from_key if isinstance(reader, ReadsFromKey) else frozenset()
    for name, each in product.root.shown:
        own = isinstance(each, Computed) and each.expression.sql.strip("`") == name
        if name in taken and not own:
            yield name


def _with_cause(still: Difference, wrong: Sequence[Difference]) -> Difference:
    """Return a difference that is still there with the cause that was found before."""
    known = next(each for each in wrong if each.key == still.key)
    return replace(still, cause=known.cause, why=known.why)


def _all_sent(spec: ProjectSpec) -> list[str]:
    """Return the products with documents, then the others that have a sink.

    Raises:
        DiffError: There is none.
    """
    from joinery.plan.build import examine
    from joinery.project.read import raise_all

    plan, problems, _ = examine(spec)
    raise_all(problems)
    assert plan is not None
    found = [each.name for each in plan.products if isinstance(each.form, DocumentForm)]
    if not found:
        raise DiffError("the project has no product with documents")
    return [*found, *(each.name for each in plan.products if each.sinks and each.name not in found)]


def _comparable(spec: ProjectSpec, name: str) -> Product:
    """Return a product that can be compared.

    Raises:
        DiffError: It cannot, by what it asks for.
    """
    try:
        product = document_product(spec, name, "diff")
    except WhyError as error:
        raise DiffError(error.message, detail=error.detail, hint=error.hint) from None
    for what in _hindrances(product):
        raise DiffError(f'product "{name}" cannot be compared yet: it has {what}')
    captured_source(spec, product)
    return product


def _hindrances(product: Product) -> Iterator[str]:
    if any(each.personal is not None for each in product.relations):
        yield "personal columns"
    if product.settle_ms or product.ready:
        yield "documents that are held back (settle or ready)"
    for node in product.root.walk():
        if node.within is not None or node.through is not None:
            yield f'an embed "{node.name}" with within or through'
    for relation in product.relations:
        if relation.logged or relation.clocks is not None:
            yield f'a relation "{relation.name}" with times that no table has'
