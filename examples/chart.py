"""Charts of the examples as SVG files that a browser shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def bars(
    file: Path,
    title: str,
    *,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    logarithmic: bool = False,
) -> Path:
    """Write a chart with a group of bars a label, one bar a series."""
    import pygal

    return _written(
        file,
        pygal.Bar(
            title=title, x_labels=list(labels), logarithmic=logarithmic, print_values=True, **_LOOKS
        ),
        series,
    )


def lines(
    file: Path,
    title: str,
    *,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
) -> Path:
    """Write a chart with a line a series."""
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


_LOOKS = {
    "width": 800,
    "height": 400,
    "legend_at_bottom": True,
    "js": (),
    "value_formatter": lambda value: "" if value is None else f"{value:,.4g}",
}


def _written(file: Path, chart: object, series: Mapping[str, Sequence[float]]) -> Path:
    for name, values in series.items():
        chart.add(name, list(values))
    file.parent.mkdir(parents=True, exist_ok=True)
    chart.render_to_file(str(file))
    return file
