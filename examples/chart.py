"""Charts of the examples as SVG files that a browser shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygal.graph.graph import Graph

CHARTS = Path("out")
"""Where examples write their charts, seen from where the user stands."""


def bars(
    file: Path,
    title: str,
    *,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    logarithmic: bool = False,
) -> Path:
    """Write a chart with a group of bars per label, one bar per series."""
    import pygal

    chart = pygal.Bar(title=title, x_labels=list(labels), print_values=True, **_LOOKS)
    if logarithmic:
        chart.logarithmic = True
        chart.y_labels = _decades([each for values in series.values() for each in values])
        chart.zero = chart.y_labels[0]
        chart.range = (chart.y_labels[0], chart.y_labels[-1])
    return _written(file, chart, series)


def lines(
    file: Path,
    title: str,
    *,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
) -> Path:
    """Write a chart with a line per series."""
    import pygal

    chart = pygal.Line(
        title=title,
        x_labels=list(labels),
        show_dots=False,
        x_labels_major_every=max(1, len(labels) // 8),
        show_minor_x_labels=False,
        **_LOOKS,
    )
    return _written(file, chart, series)


def _decades(values: Sequence[float]) -> list[float]:
    """Return the powers of ten from below the least positive value to above the greatest."""
    exponents = [math.log10(each) for each in values if each > 0] or [0.0]
    least, greatest = math.ceil(min(exponents)) - 1, math.floor(max(exponents)) + 1
    return [10.0**each for each in range(least, greatest + 1)]


_LOOKS = {
    "width": 800,
    "height": 400,
    "legend_at_bottom": True,
    "js": (),
    "value_formatter": lambda value: "" if value is None else f"{value:,.4g}",
}


def _written(file: Path, chart: Graph, series: Mapping[str, Sequence[float]]) -> Path:
    for name, values in series.items():
        chart.add(name, list(values))
    file.parent.mkdir(parents=True, exist_ok=True)
    chart.render_to_file(str(file))
    return file
