"""Waiting until a product shows what was written, for Python."""

from __future__ import annotations

from joinery.app.project import ProjectLike, project_of
from joinery.capture.place_log import spool_log
from joinery.observe.wait import wait_for


def wait(project: ProjectLike, product: str, *positions: str, timeout: str = "1m") -> None:
    """Return once a product or stream shows all up to some positions, in every sink.

    So a program reads its own writes: what a Kafka producer was told of a record it sent is the
    position to wait for. It reads the checkpoint of the product's query, so it needs no Spark.

    Args:
        project: The project, its file, or a folder of them; or an app.
        product: The product or stream.
        positions: `topic/partition/offset`, such as `orders/0/1042`; of change files
            `topic/file/line`, or `topic/file` for all of it; where the product's source is
            `postgres`, or names its `connector`, a place in the database's log, such as
            `0/16B3748`.
        timeout: How long to wait at most.

    Raises:
        ProjectErrors: The file has problems.
        WaitError: There is no position, or one of no log that the product reads, or a line that a
            file did not have when it was read.
        WaitTimeoutError: The product did not come so far in time.

    Example:
        >>> import joinery as jn
        >>> user = jn.relation("user", key=["id"], fields={"id": "long"})
        >>> changes = {"changes": {"files": {"path": "data"}}}
        >>> person = jn.document("person", user)
        >>> project = jn.Project("people", sources=changes, products=[person], folder="/none")
        >>> jn.wait(project, "person", "user/1.jsonl/7", timeout="0s")  # It never ran.
        Traceback (most recent call last):
        ...
        joinery.observe.wait.WaitTimeoutError: WAIT_TIMEOUT ...
    """
    known = project_of(project)
    plan = known.plan
    texts = [str(each) for each in positions]
    wait_for(
        known.spec,
        [*plan.products, *plan.streams],
        product,
        texts,
        timeout=timeout,
        captured=spool_log,
    )
