"""Nested documents and enriched streams, kept up to date from change streams, on Spark.

Names are imported when they are first used, so that `import joinery` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from joinery._version import __version__

if TYPE_CHECKING:
    from joinery import testing
    from joinery.app.app import App
    from joinery.app.declarations import Table
    from joinery.app.diff import diff
    from joinery.app.project import Project, load
    from joinery.app.run import run, runs
    from joinery.app.state import state
    from joinery.app.state_documents import state_documents
    from joinery.app.state_rows import state_rows
    from joinery.app.state_sizes import state_sizes
    from joinery.app.status import status
    from joinery.app.stream import Stream
    from joinery.app.touch import touch
    from joinery.app.wait import wait
    from joinery.app.why import where_to, why
    from joinery.errors import JoineryError
    from joinery.project.declare import document, relation
    from joinery.project.declare_embed import many, one
    from joinery.project.declare_fold import fold
    from joinery.project.declare_form import aggregate, history, outbox, search
    from joinery.project.declare_pattern import pattern, row

__all__ = [
    "App",
    "JoineryError",
    "Project",
    "Stream",
    "Table",
    "__version__",
    "aggregate",
    "diff",
    "document",
    "fold",
    "history",
    "load",
    "many",
    "one",
    "outbox",
    "pattern",
    "relation",
    "row",
    "run",
    "runs",
    "search",
    "state",
    "state_documents",
    "state_rows",
    "state_sizes",
    "status",
    "testing",
    "touch",
    "wait",
    "where_to",
    "why",
]

_HOMES = {
    "App": "joinery.app.app",
    "Stream": "joinery.app.stream",
    "Table": "joinery.app.declarations",
    "JoineryError": "joinery.errors",
    "diff": "joinery.app.diff",
    "state": "joinery.app.state",
    "state_documents": "joinery.app.state_documents",
    "state_rows": "joinery.app.state_rows",
    "state_sizes": "joinery.app.state_sizes",
    "status": "joinery.app.status",
    "touch": "joinery.app.touch",
    "wait": "joinery.app.wait",
    **dict.fromkeys(("where_to", "why"), "joinery.app.why"),
    **dict.fromkeys(("Project", "load"), "joinery.app.project"),
    **dict.fromkeys(("run", "runs"), "joinery.app.run"),
    **dict.fromkeys(("document", "relation"), "joinery.project.declare"),
    **dict.fromkeys(("many", "one"), "joinery.project.declare_embed"),
    **dict.fromkeys(("aggregate", "history", "outbox", "search"), "joinery.project.declare_form"),
    "fold": "joinery.project.declare_fold",
    **dict.fromkeys(("pattern", "row"), "joinery.project.declare_pattern"),
}


if not TYPE_CHECKING:  # so that a type checker knows which names there are

    def __getattr__(name: str) -> object:
        if name == "testing":
            return import_module("joinery.testing")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
