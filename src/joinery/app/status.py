"""How the products of a project stand, for Python."""

from __future__ import annotations

from pathlib import Path

from joinery.app.project import Project, load
from joinery.observe.status import ProjectStatus, project_status


def status(project: Project | str | Path, *products: str) -> ProjectStatus:
    """Return how products and streams stand: fresh, behind, waiting, failed, and why.

    It reads the small files that runs write beside their checkpoint, so it needs no Spark.

    Args:
        project: The project, its file, or a folder of them.
        products: Only these; without any, all.

    Raises:
        ProjectErrors: The file has problems.

    Example:
        >>> import joinery as jn
        >>> user = jn.relation("user", key=["id"], fields={"id": "long"})
        >>> project = jn.Project("people", products=[jn.document("person", user)], folder="/none")
        >>> [(each.product, each.state) for each in jn.status(project).products]
        [('person', 'never run')]
    """
    known = project if isinstance(project, Project) else load(project)
    return project_status(known.spec, products)
