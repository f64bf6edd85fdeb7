"""The projects whose products one page shows, and how they stand.

Projects are read once, when the page is opened to be served; how their products stand is read
from the files of their runs, at most once a second however many look.

Invariant: nothing is asked but files beside the checkpoints, and nothing is written.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from joinery.delivery.action_log import LoggedAction
from joinery.delivery.control import Action, ControlLog
from joinery.delivery.query_paths import QueryPaths
from joinery.errors import JoineryError, SpecError
from joinery.model.status import QueryStatus
from joinery.observe.history_file import Minute, history_folder, minutes_of
from joinery.observe.kept_letters import KeptLetters, kept_letters
from joinery.observe.outline import Outline, queries_of
from joinery.observe.read_status import read_status
from joinery.observe.status import (
    STATES,
    ProductStatus,
    ProjectStatus,
    project_status,
)
from joinery.operate.actions import project_actions
from joinery.plan.build import build_plan
from joinery.plan.explain.page import (
    Explanation,
    StreamExplanation,
    explain,
    explain_stream,
)
from joinery.plan.product import Product
from joinery.plan.stream import Stream
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec

_EVERY_S = 1.0
_DAY_S = 86_400.0
_SHARE = 10  # a look takes at most a tenth of one core
_NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9._-]+")

Explained = Explanation | StreamExplanation


class FleetError(SpecError):
    """The projects that a page is to show cannot be shown together."""

    code = "UI"


@dataclass(frozen=True, slots=True)
class Place:
    """One project of a fleet.

    Attributes:
        slug: Names it in addresses.
        file: The project file, or the folder of them.
    """

    slug: str
    file: Path
    spec: ProjectSpec


@dataclass(frozen=True, slots=True)
class Standing:
    """How one product of a fleet stands."""

    place: Place
    status: ProductStatus

    @property
    def urgency(self) -> tuple[bool, int, str, str]:
        """Sorts what wants attention first."""
        status = self.status
        urgent, state = not status.wants_attention, STATES.index(status.state)
        return urgent, state, self.place.slug, status.product


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a fleet stood.

    Attributes:
        at: Seconds since 1970.
        products: What wants attention first.
        warnings: By project, what its runs noticed, or why its files cannot be read.
    """

    at: float
    products: tuple[Standing, ...]
    warnings: tuple[tuple[str, str], ...] = ()


@dataclass
class Fleet:
    """Some projects, and what their runs have told.

    Attributes:
        places: The projects.
        clock: Tells the seconds since 1970.
    """

    places: Sequence[Place]
    clock: Callable[[], float] = time.time
    _mutex: threading.Lock = field(default_factory=threading.Lock)
    _known: Snapshot | None = None
    _due_at: float = 0.0
    _plans: dict[str, dict[str, Explained] | str] = field(default_factory=dict)

    @classmethod
    def load(cls, files: Sequence[Path]) -> Fleet:
        """Return the fleet of some project files, or folders of them.

        Raises:
            ProjectErrors: One has problems.
            FleetError: One is named twice.
        """
        places: list[Place] = []
        for file in files:
            if any(each.file.resolve() == file.resolve() for each in places):
                raise FleetError(f"project {file} is named twice", hint="Name it once.")
            spec = load_spec(file)
            places.append(Place(_slug(spec.name, {each.slug for each in places}), file, spec))
        return cls(tuple(places))

    def snapshot(self) -> Snapshot:
        """Return how all products stand, as of a moment ago.

        That is a second at most, or ten times as long as a look takes.
        """
        with self._mutex:
            if self._known is None or time.monotonic() >= self._due_at:
                began = time.monotonic()
                self._known = self._look()
                took = time.monotonic() - began
                self._due_at = time.monotonic() + max(_EVERY_S, _SHARE * took)
            return self._known

    def find(self, slug: str, product: str) -> Standing | None:
        """Return how one product stands; None where there is none of these names."""
        found = (each for each in self.snapshot().products if each.place.slug == slug)
        return next((each for each in found if each.status.product == product), None)

    def told(self, standing: Standing) -> QueryStatus | None:
        """Return what the run of a product's query has told."""
        spec = standing.place.spec
        root = spec.checkpoint
        told, _ = read_status(QueryPaths.of(root, standing.status.query).status_file)
        return told

    def minutes(self, standing: Standing) -> list[Minute]:
        """Return the minutes of the last day in which a product did something, oldest first."""
        spec, now = standing.place.spec, self.clock()
        root = spec.checkpoint
        folder = history_folder(QueryPaths.of(root, standing.status.query).status_file)
        found = minutes_of(folder, standing.status.product, now=now)
        return [each for each in found if each.at > now - _DAY_S]

    def actions(self, standing: Standing) -> tuple[LoggedAction, ...]:
        """Return what people did to a product, the newest first, but for dead letters.

        What was done about those, their marks tell.
        """
        done = project_actions(Outline.of(standing.place.spec), [standing.status.product])
        return tuple(each for each in done if not each.verb.startswith("dlq "))

    def paused(self, standing: Standing) -> Action | None:
        """Return who paused a product's query; None where it is to run, or nobody can tell."""
        try:
            return self._control(standing).paused
        except OSError:
            return None

    def letters(self, standing: Standing) -> KeptLetters | None:
        """Return the dead letters of a product; None as `kept_letters`."""
        spec, name = standing.place.spec, standing.status.product
        outline, told = Outline.of(spec), self.told(standing)
        kept = kept_letters(outline.letters)
        if kept is None:
            return None
        totals = told.products.get(name) if told is not None else None
        relations, sources = (totals.relations, totals.sources) if totals is not None else ((), ())
        return kept.of(outline.dead_letter_names(name, relations), sources)

    def forget(self) -> None:
        """Look again at the next question, since something was changed."""
        with self._mutex:
            self._known = None

    def plan(self, standing: Standing) -> Explained | str:
        """Return the plan of a product, or why it cannot be told here."""
        place = standing.place
        with self._mutex:
            if place.slug not in self._plans:
                self._plans[place.slug] = _explained(place.spec)
            known = self._plans[place.slug]
        return known if isinstance(known, str) else known[standing.status.product]

    def _control(self, standing: Standing) -> ControlLog:
        spec = standing.place.spec
        root = spec.checkpoint
        return ControlLog(QueryPaths.of(root, standing.status.query).control_file)

    def _look(self) -> Snapshot:
        found: list[Standing] = []
        warnings: list[tuple[str, str]] = []
        for place in self.places:
            status, why = _status(place.spec)
            found += [Standing(place, each) for each in status]
            warnings += [(place.slug, each) for each in why]
        return Snapshot(
            self.clock(), tuple(sorted(found, key=lambda each: each.urgency)), tuple(warnings)
        )


def _status(spec: ProjectSpec) -> tuple[Sequence[ProductStatus], Sequence[str]]:
    """Return how a project stands; where its files cannot be read, all want attention."""
    try:
        status: ProjectStatus = project_status(spec)
    except (OSError, JoineryError) as error:
        products = [
            ProductStatus(product=name, query=query, state="unknown", because=str(error))
            for name, query in queries_of(spec).items()
        ]
        return products, [str(error)]
    return status.products, status.warnings


def _explained(spec: ProjectSpec) -> dict[str, Explained] | str:
    try:
        plan = build_plan(spec)
    except JoineryError as error:
        return f"The plan needs Spark, or has problems: joinery explain says which. ({error.code})"
    return dict(_each_explained(plan.products, plan.streams))


def _each_explained(
    products: Sequence[Product], streams: Sequence[Stream]
) -> Iterator[tuple[str, Explained]]:
    for product in products:
        yield product.name, explain(product)
    for stream in streams:
        yield stream.name, explain_stream(stream)


def _slug(name: str, taken: set[str]) -> str:
    """Return what names a project in addresses: its name, numbered where it is taken.

    Example:
        >>> _slug("my shop", set()), _slug("shop", {"shop", "shop-2"})
        ('my-shop', 'shop-3')
    """
    slug = _NOT_IN_SLUG.sub("-", name).strip(".-") or "project"
    numbered = (slug, *(f"{slug}-{number}" for number in range(2, len(taken) + 2)))
    return next(each for each in numbered if each not in taken)
