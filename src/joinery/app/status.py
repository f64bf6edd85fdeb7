"""How the products of a project stand, for Python."""

from __future__ import annotations

from joinery.app.project import ProjectLike, project_of, unknown_name
from joinery.observe.outline import known_products
from joinery.observe.status import ProjectStatus, project_status


def status(project: ProjectLike, *products: str) -> ProjectStatus:
    """Return how products and streams stand: fresh, behind, waiting, failed, and why.

    It reads the small files that runs write beside their checkpoint, so it needs no Spark.

    Args:
        project: The project, its file, or a folder of them; or an app.
        products: Only these; without any, all.

    Raises:
        ProjectErrors: The file has problems.
        UnknownNameError: There is no product or stream of a name that has something to run.

    Example:
        >>> import joinery as jn
        >>> user = jn.relation("user", key=["id"], fields={"id": "long"})
        >>> project = jn.Project("people", products=[jn.document("person", user)], folder="/none")
        >>> [(each.product, each.state) for each in jn.status(project).products]
        [('person', 'never run')]
    """
    spec = project_of(project).spec
    known = list(known_products(spec))
    for each in products:
        if each not in known:
            raise unknown_name("product or stream", each, known)
    return project_status(spec, products)
