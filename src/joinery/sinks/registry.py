"""The sink that a project declares, by its kind.

A package adds a kind by an entry point of the group `joinery.sinks` that names its
`SinkOptions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from joinery.project.kinds import SINKS
from joinery.sinks.protocol import Sink


def make_sink(kind: str, product: str, options: Mapping[str, object], folder: Path) -> Sink:
    """Return the sink `kind` of a product, not yet opened.

    Raises:
        SpecError: No such sink is installed, or its options are not what it takes.
    """
    sink: Sink = SINKS.make(kind, options, product, folder)
    return sink
