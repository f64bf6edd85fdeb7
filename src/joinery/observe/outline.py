"""What `joinery status` needs to know of a project, which is little of what it declares."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from joinery.place.place import Place
from joinery.project.expect import Expectations

if TYPE_CHECKING:
    from joinery.project.product import ProjectSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A project as it is asked how it stands.

    Attributes:
        project: Its name.
        checkpoint: `run.checkpoint`.
        letters: The folder that has its dead letters; None where they are not counted one by one.
        queries: By product and stream that has one, its query.
        expected: By product, what it is expected to be, where it says so.
        topics: By relation, the name under which its dead letters are kept.
    """

    project: str
    checkpoint: Place
    letters: Place | None
    queries: Mapping[str, str]
    expected: Mapping[str, Expectations]
    topics: Mapping[str, str]

    @classmethod
    def of(cls, spec: ProjectSpec) -> Self:
        """Return the outline of a project.

        Raises:
            DeadLetterPlaceError: It names no place that can hold dead letters.
        """
        from joinery.project.captured import topics_of  # with all that a database's URL says

        return cls(
            project=spec.name,
            checkpoint=spec.checkpoint,
            letters=letters_folder(spec),
            queries=queries_of(spec),
            expected={each.name: each.expect for each in spec.products if each.expect is not None},
            topics=topics_of(spec),
        )

    @property
    def on_disk(self) -> bool:
        """Whether all of its places are folders of this machine."""
        return isinstance(self.checkpoint, Path) and isinstance(self.letters, Path | None)

    def to_json(self) -> dict[str, Any]:
        """Return it as one JSON object; to be asked of one that is `on_disk`."""
        return {
            "project": self.project,
            "checkpoint": str(self.checkpoint),
            "letters": None if self.letters is None else str(self.letters),
            "queries": dict(self.queries),
            "expected": {name: asdict(each) for name, each in self.expected.items()},
            "topics": dict(self.topics),
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Self:
        """Return what `to_json` gave."""
        return cls(
            project=told["project"],
            checkpoint=Path(told["checkpoint"]),
            letters=None if told["letters"] is None else Path(told["letters"]),
            queries=told["queries"],
            expected={name: Expectations(**each) for name, each in told["expected"].items()},
            topics=told["topics"],
        )

    def dead_letter_names(self, name: str, relations: Collection[str]) -> frozenset[str]:
        """Return whose dead letters are those of a product: its own, and those of its topics.

        Args:
            name: The product or stream.
            relations: What it is made of.
        """
        return frozenset({name, *(self.topics[each] for each in relations if each in self.topics)})


def queries_of(spec: ProjectSpec) -> dict[str, str]:
    """Return the query of each product and stream that has one."""
    products = {each.name: each.group or each.name for each in spec.products}
    streams = {each.name: each.group or each.name for each in spec.running_streams}
    return {**products, **streams}


def known_products(spec: ProjectSpec) -> tuple[str, ...]:
    """Return the products and streams of a project that have something to run."""
    return tuple(queries_of(spec))


def letters_folder(spec: ProjectSpec) -> Place | None:
    """Return the folder of a project's dead letters; None where another kind of place has them.

    Raises:
        DeadLetterPlaceError: It names no place that can hold them.
    """
    letters = spec.run.dead_letters
    if letters.use is None and letters.kind != "files":
        return None
    from joinery.dead_letters.open import dead_letter_folder  # with all kinds of sinks

    return dead_letter_folder(spec)
