"""Names of Spark functions that no expression may call, and why."""

from __future__ import annotations

from typing import get_args

from joinery.plan.nodes import AggregateFunction

NOT_DETERMINISTIC = frozenset(
    """
    rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id
    now current_timestamp localtimestamp current_date curdate current_time current_timezone
    unix_timestamp_now input_file_name input_file_block_start input_file_block_length
    current_user user session_user current_database current_schema current_catalog version
    """.split()
)

GENERATORS = frozenset(
    "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple "
    "variant_explode variant_explode_outer".split()
)

WINDOWS = frozenset(
    "row_number rank dense_rank percent_rank ntile lag lead cume_dist nth_value".split()
)

AGGREGATES = frozenset(
    """
    count sum min max avg mean first first_value last last_value any_value any some every bool_and
    bool_or count_if collect_list collect_set array_agg list_agg listagg string_agg stddev std
    stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp kurtosis skewness
    median mode percentile percentile_approx approx_percentile approx_count_distinct max_by min_by
    bit_and bit_or bit_xor histogram_numeric product regr_avgx regr_avgy regr_count regr_r2
    try_sum try_avg grouping grouping_id sum_distinct count_min_sketch
    """.split()
)

EMBED_AGGREGATES: tuple[str, ...] = get_args(AggregateFunction)

_WORDS_AS_CALLS = frozenset(
    "current_timestamp current_date current_time localtimestamp current_user".split()
)


def moving_word(name: str) -> bool:
    """True for a bare word that Spark reads as a call of a function that depends on the run."""
    return name.lower() in _WORDS_AS_CALLS
