"""Spark's analyser types what lies outside the portable subset, and refuses the rest."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession

from joinery.expression.expression import ExpressionError, build_expression
from joinery.model.type import (
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    DataType,
    Field,
    Map,
    Struct,
)
from joinery.spark.analyse import SparkAnalyser

pytestmark = pytest.mark.spark

SCOPE: Mapping[str, DataType] = {
    "id": INT,
    "name": STRING,
    "at": TIMESTAMP,
    "xs": Array(Struct((Field("odd name", LONG),))),
    "m": Map(STRING, INT),
}


@pytest.fixture(scope="module")
def analyser(spark: SparkSession) -> SparkAnalyser:
    return SparkAnalyser(spark)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("initcap(name)", STRING),
        ("at + interval 1 day", TIMESTAMP),
        ("extract(year from at)", INT),
        ("map_keys(m)", Array(STRING)),
        ("aggregate(xs, 0L, (sum, x) -> sum + x.`odd name`)", LONG),
        ("slice(shuffled, 1, 1)", Array(INT)),
    ],
)
def test_spark_types_what_is_not_portable(
    analyser: SparkAnalyser, text: str, kind: DataType
) -> None:
    scope = {**SCOPE, "shuffled": Array(INT)}

    expression, _ = build_expression(text, scope, analyser=analyser)

    assert kind == expression.type


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("initcpa(name)", "PLAN_UNKNOWN_FUNCTION"),
        ("initcap(id, id)", "PLAN_EXPRESSION_TYPE"),
        ("initcap(nam) || interval 1 day", "PLAN_UNKNOWN_COLUMN"),
        ("at - at", "PLAN_EXPRESSION_TYPE"),
        ("id & 1 & (select 1)", "PLAN_NOT_A_ROW_EXPRESSION"),
    ],
)
def test_spark_refuses_with_our_codes(analyser: SparkAnalyser, text: str, code: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        build_expression(text, SCOPE, analyser=analyser)

    assert code == caught.value.code


@pytest.mark.parametrize(
    ("text", "near"), [("cuont(id)", "count"), ("sm(id)", "sum"), ("cocat(name)", "concat")]
)
def test_the_nearest_function_is_hinted_an_aggregate_too(
    analyser: SparkAnalyser, text: str, near: str
) -> None:
    with pytest.raises(ExpressionError) as caught:
        build_expression(text, SCOPE, analyser=analyser)

    assert f'Use "{near}".' == caught.value.hint


def test_a_difference_of_times_is_refused_with_what_gives_its_seconds(
    analyser: SparkAnalyser,
) -> None:
    with pytest.raises(ExpressionError) as caught:
        build_expression("at - at", SCOPE, analyser=analyser)

    seconds = "(unix_micros(a) - unix_micros(b)) / 1e6"
    assert seconds in (caught.value.hint or "")
    assert DOUBLE == build_expression(seconds, {"a": TIMESTAMP, "b": TIMESTAMP})[0].type


def test_a_refusal_names_an_aggregate_as_it_was_written(analyser: SparkAnalyser) -> None:
    text = "min(xs.`odd name`) > 0 and max(xs.`odd name`) < timestamp'2026-01-01' - at"
    embeds = {"xs": Struct((Field("odd name", LONG),))}

    with pytest.raises(ExpressionError) as caught:
        build_expression(text, SCOPE, embeds=embeds, analyser=analyser)

    assert "__agg" not in caught.value.message
    assert "(max(xs.`odd name`) < " in caught.value.message
    assert text.index("max(") == caught.value.offset
    assert "unix_micros" in caught.value.hint


def test_a_refusal_is_not_written_to_the_error_stream(
    analyser: SparkAnalyser, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ExpressionError):
        analyser.type_of("initcpa(name)", SCOPE)

    assert "initcpa" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("bitmap_count(bitmap_construct_agg(id))", "PLAN_NOT_A_ROW_EXPRESSION"),
        ("explode(xs)", "PLAN_NOT_A_ROW_EXPRESSION"),
        ("rand()", "PLAN_NOT_DETERMINISTIC"),
    ],
)
def test_what_looks_beyond_its_row_is_refused_by_the_plan_it_makes(
    analyser: SparkAnalyser, text: str, code: str
) -> None:
    with pytest.raises(ExpressionError) as caught:
        analyser.type_of(text, SCOPE)

    assert code == caught.value.code


def test_the_settings_of_the_session_stay_as_they_were(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.caseSensitive")

    SparkAnalyser(spark).type_of("name", SCOPE)

    assert before == spark.conf.get("spark.sql.caseSensitive")
