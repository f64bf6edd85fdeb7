"""Random projects of all forms of products, with how many of each are tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from tests.oracle import (
    fold_trial,
    group_trial,
    history_trial,
    interval_trial,
    match_reading_trial,
    pattern_trial,
    reading_trial,
    search_trial,
    version_trial,
)
from tests.oracle.compare import (
    Trial,
    make_through_trial,
    make_trial,
    trial_of_logs,
    trials,
)
from tests.oracle.searches import random_search_of_a_log, random_text_search

FORMS: Mapping[str, tuple[Sequence[pytest.ParameterSet], Callable[[list[int]], Trial]]] = {
    "document": (trials(300, few=6, together=100), make_trial),
    "through": (trials(100, few=4, together=100), make_through_trial),
    "group": (group_trial.TRIALS, group_trial.make_groups),
    "reader": (reading_trial.TRIALS, reading_trial.make_readers),
    "matches": (match_reading_trial.TRIALS, match_reading_trial.make_match_readers),
    "interval": (interval_trial.TRIALS, lambda seeds: interval_trial.make_intervals(seeds)[0]),
    "forgetting": (interval_trial.TRIALS, interval_trial.make_forgetting),
    "alike": (interval_trial.TRIALS, interval_trial.make_alike),
    "appended": (interval_trial.TRIALS, interval_trial.make_appended),
    "version": (version_trial.TRIALS, lambda seeds: trial_of_logs(seeds, version_trial.make_log)),
    "history": (history_trial.TRIALS, lambda seeds: trial_of_logs(seeds, history_trial.make_log)),
    "fold": (fold_trial.TRIALS, lambda seeds: trial_of_logs(seeds, fold_trial.make_log)),
    "pattern": (pattern_trial.TRIALS, lambda seeds: trial_of_logs(seeds, pattern_trial.make_log)),
    "search": (search_trial.TRIALS, search_trial.make_searches),
    "text": (
        search_trial.TEXT_TRIALS,
        lambda seeds: search_trial.make_searches(seeds, random_text_search),
    ),
    "searched_log": (
        search_trial.LOG_TRIALS,
        lambda seeds: search_trial.make_searches(seeds, random_search_of_a_log),
    ),
}
