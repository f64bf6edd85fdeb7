"""What a project is warned of before anything is read, by `joinery check` as by a run."""

from __future__ import annotations

from collections.abc import Iterator

from joinery.connect.source_folder import source_warnings
from joinery.errors import Location
from joinery.model.warning import RunWarning
from joinery.spec.product import ProjectSpec
from joinery.spec.stream import UnionSpec


def spec_warnings(spec: ProjectSpec) -> Iterator[RunWarning]:
    """Yield what goes nowhere, and what the folders of its sources lack."""
    yield from _without_sink(spec)
    yield from source_warnings(spec)


def _without_sink(spec: ProjectSpec) -> Iterator[RunWarning]:
    """Yield the products, and the streams that no other one goes on from, that go nowhere."""
    for product in spec.products:
        if not product.sinks:
            location = spec.locate(("products", product.name), key=True)
            yield _nowhere(f'product "{product.name}"', location)
    steps = [step for each in spec.streams for step in each.steps]
    read = {each.origin for each in spec.streams} | {
        step.stream for step in steps if isinstance(step, UnionSpec)
    }
    for stream in spec.streams:
        if not stream.sinks and stream.name not in read:
            location = spec.locate(("streams", stream.name), key=True)
            yield _nowhere(f'stream "{stream.name}"', location)


def _nowhere(about: str, location: Location | None) -> RunWarning:
    return RunWarning(
        code="WARN_NO_SINK",
        about=about,
        message=f"{about} has no sink, so what it gives is kept nowhere",
        hint="Give it one, such as sink: {files: {path: out}}; in Python .sink(…).",
        location=location,
    )
