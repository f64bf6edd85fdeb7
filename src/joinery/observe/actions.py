"""What people did to a project, to one of its products, or to what that reads."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from joinery.delivery.action_log import ActionLog, LoggedAction
from joinery.delivery.control import Action
from joinery.model.status import QueryStatus
from joinery.observe.outline import Outline
from joinery.place.place import Place

log = logging.getLogger("joinery.run")
_RECENT_BYTES = 1 << 16


def logged_actions(
    root: Place, asked: Mapping[str, Sequence[Action]], *, recent: bool = False
) -> tuple[LoggedAction, ...]:
    """Return what people did to a project, the newest first; of what can be read.

    Args:
        root: The folder of its checkpoints.
        asked: By query, what its control log has.
        recent: Whether some hundred lines are enough, for those who look each second.
    """
    found = [LoggedAction.of_action(each, query) for query, some in asked.items() for each in some]
    try:
        log_of = ActionLog(root)
        found += log_of.actions(_RECENT_BYTES) if recent else log_of.actions()
    except OSError as error:
        log.debug("who did what was not read: %s", error)
    return tuple(sorted(found, key=lambda each: each.at, reverse=True))


def actions_about(
    project: Outline, done: Sequence[LoggedAction], product: str, told: QueryStatus | None
) -> tuple[LoggedAction, ...]:
    """Return what was done to a product, its query, its group, or what it reads.

    Args:
        project: The project.
        done: What was done to it.
        product: A product or stream.
        told: What the run of its query has told.
    """
    totals = told.products.get(product) if told is not None else None
    relations = totals.relations if totals is not None else ()
    sources = totals.sources if totals is not None else ()
    topics = project.dead_letter_names(product, relations)
    names = {product, project.queries[product], *relations, *sources, *topics}
    return tuple(each for each in done if each.is_about(names))
