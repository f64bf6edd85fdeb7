"""What leads the names of the tables that a query's checkpoint keeps its state in."""

from __future__ import annotations

import json

from joinery.spark.place import Place
from joinery.spark.stores import FILE_NAME
from joinery.spec.product import ProjectSpec


def standing_name(spec: ProjectSpec, query: str) -> str:
    """Return the name of a query's store; the query's own where no run has begun it."""
    place = Place.of(spec.path_of(spec.run.checkpoint), query)
    try:
        return str(json.loads((place.checkpoint / FILE_NAME).read_text(encoding="utf-8"))["name"])
    except FileNotFoundError:
        return query
