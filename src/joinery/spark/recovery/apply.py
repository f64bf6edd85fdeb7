"""Lets checkpoints go on with the products that their queries have now.

Invariant: a checkpoint is the former program's until what is noted of it is replaced, which is one
file; from then on it is the new one's. State is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from joinery.delivery.action_log import ActionLog
from joinery.delivery.query_paths import QueryPaths, rebuild_paths
from joinery.files import write_whole
from joinery.place.place import Place
from joinery.plan.product import Product
from joinery.project.product import ProjectSpec
from joinery.solutions.spark_state.fingerprint import FILE_NAME
from joinery.spark.recovery.query_change import ApplyError, QueryChange
from joinery.spark.recovery.replacement import put_in_place
from joinery.spark.recovery.standing import compare


def apply_all(spec: ProjectSpec, queries: Mapping[str, Sequence[Product]]) -> Sequence[QueryChange]:
    """Let queries go on from their state with the products that the project has now.

    All are judged before anything is changed. A command that is killed between two of them is to be
    called again: it finds nothing left to do for the first.

    Args:
        spec: The project.
        queries: The products of each, by its name.

    Returns:
        What became of each: nothing was done where it is not `carried`.

    Raises:
        ApplyError: The state of some does not fit; nothing was changed.
        LeaseHeldError: One runs, or is rebuilt.
        HeldBackError: Documents of a product that is gone still wait.
    """
    root = spec.checkpoint
    with ExitStack() as held:
        checks = {query: _held(root, query, held) for query in queries}
        for query, check in checks.items():
            put_in_place(root, query, check)
        found = [compare(spec, query, products) for query, products in queries.items()]
        _check_fits(found)
        for each in (one for one in found if one.noted is not None):
            checks[each.query]()
            _note(QueryPaths.of(root, each.query).checkpoint, each)
            ActionLog(root).note("apply", (each.query,), _changed(each))
        return found


def _held(root: Place, query: str, held: ExitStack) -> Callable[[], None]:
    """Take the leases of a query and its rebuild; return what raises once they are not held."""
    leases = [paths.lease for paths in (QueryPaths.of(root, query), rebuild_paths(root, query))]
    for lease in leases:
        lease.take()
        held.callback(lease.release)

    def check() -> None:
        for each in leases:
            each.check()

    return check


def _note(folder: Place, change: QueryChange) -> None:
    assert change.noted is not None
    write_whole(folder / FILE_NAME, change.noted.to_json(), synced=True)


def _changed(change: QueryChange) -> str:
    """Return what an apply changes of a query's products, in words."""
    changed = [f"{name} {what}" for name, what in change.products.items() if what != "unchanged"]
    return ", ".join(changed)


def _check_fits(found: Sequence[QueryChange]) -> None:
    """Refuse all where the state of one does not fit."""
    if refused := [each for each in found if each.outcome == "rebuilt"]:
        raise _refused(refused)
    for each in found:
        if each.hindrance is not None:
            raise each.hindrance


def _refused(refused: Sequence[QueryChange]) -> ApplyError:
    new = [
        f'"{name}"'
        for each in refused
        for name, change in each.products.items()
        if change == "added"
    ]
    apart = _apart(new)
    names = ", ".join(f'"{each.query}"' for each in refused)
    return ApplyError(
        f"the state of {'query' if len(refused) == 1 else 'queries'} {names} cannot be kept",
        detail=f"{' '.join(_told(each, len(refused)) for each in refused)} Nothing was changed.",
        hint=f"Build their documents again, alongside the old ones: joinery run --rebuild.{apart}",
    )


def _apart(new: Sequence[str]) -> str:
    """Return how new products, in quotes, can be built without the others; empty without any."""
    if len(new) > 1:
        return f" Or give {', '.join(new)} a group of their own, so that only they are built."
    return f" Or give {new[0]} a group of its own, so that only it is built." if new else ""


def _told(refused: QueryChange, queries: int) -> str:
    """Return why the state of a query does not fit, as a sentence."""
    told = "; ".join(refused.why)
    whose = f"Of {refused.query}: {told}" if queries > 1 else f"{told[0].upper()}{told[1:]}"
    return f"{whose}."
