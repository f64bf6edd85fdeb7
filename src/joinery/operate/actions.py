"""Who did what to a project, for those who ask for all of it."""

from __future__ import annotations

import logging
from collections.abc import Collection

from joinery.delivery.action_log import LoggedAction
from joinery.delivery.control import Action, ControlLog
from joinery.delivery.query_paths import QueryPaths
from joinery.observe.actions import actions_about, logged_actions
from joinery.observe.outline import Outline
from joinery.observe.read_status import read_status

log = logging.getLogger("joinery.run")


def project_actions(project: Outline, names: Collection[str] = ()) -> tuple[LoggedAction, ...]:
    """Return what people did to a project, the newest first; with names to those products alone."""
    queries = dict.fromkeys(project.queries.values())
    paths = {query: QueryPaths.of(project.checkpoint, query) for query in queries}
    done = logged_actions(
        project.checkpoint, {query: _asked(each) for query, each in paths.items()}
    )
    if not names:
        return done
    told = {name: read_status(paths[project.queries[name]].status_file)[0] for name in names}
    about = {name: actions_about(project, done, name, each) for name, each in told.items()}
    return tuple(each for each in done if any(each in some for some in about.values()))


def _asked(paths: QueryPaths) -> tuple[Action, ...]:
    try:
        return ControlLog(paths.control_file).actions()
    except OSError as error:  # of which the status of the query tells
        log.debug("what was asked of %s was not read: %s", paths.query, error)
        return ()
