"""Expressions are read, typed and split from their aggregates as docs/expressions.md says."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

import pytest

from joinery.expression.expression import ExpressionError, NotPortableError, build_expression
from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)

TRANSFER = Struct((Field("amount", INT), Field("kind", STRING), Field("tags", Array(STRING))))
SCOPE: Mapping[str, DataType] = {
    "id": INT,
    "size_bytes": LONG,
    "price": Decimal(10, 2),
    "name": STRING,
    "born": DATE,
    "active": BOOLEAN,
    "odd name": STRING,
    "r": Struct((Field("description", STRING), Field("owner", Struct((Field("id", INT),))))),
    "transfers": Array(TRANSFER),
    "by_kind": Map(STRING, TRANSFER),
}
EMBEDS = {"transfers": TRANSFER, "by_kind": TRANSFER}


class Analyser:
    """Types everything as a string, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def type_of(self, sql: str, scope: Mapping[str, DataType]) -> DataType:
        self.asked.append(sql)
        return STRING


def built(text: str) -> Expression:
    return build_expression(text, SCOPE)[0]


def refused(text: str, *, embeds: Mapping[str, Struct] | None = None) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        build_expression(text, SCOPE, embeds=embeds)
    return caught.value


def aggregated(text: str, first: int = 0) -> tuple[Expression, tuple[Aggregate, ...]]:
    return build_expression(text, SCOPE, embeds=EMBEDS, first_aggregate=first)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("id + 1L", LONG),
        ("id / 2", DOUBLE),
        ("price * 2", Decimal(12, 2)),
        ("price / 3", Decimal(14, 6)),
        ("id = 1 is null", BOOLEAN),
        ("1 + 2 || 'a'", STRING),
        ("case when active then 1 else price end", Decimal(12, 2)),
        ("r.owner.id", INT),
        ("transfers[0].tags", Array(STRING)),
        ("transfers.amount", Array(INT)),
        ("by_kind['x'].kind", STRING),
        ("transform(transfers, t -> t.amount * 2L)", Array(LONG)),
        ("struct(id, name as label)", Struct((Field("id", INT), Field("label", STRING)))),
        ("`odd name`", STRING),
        ("-2147483648", INT),
        ("2147483648", LONG),
    ],
)
def test_an_expression_has_the_type_that_spark_gives_it(text: str, kind: DataType) -> None:
    assert kind == built(text).type


def test_the_text_stays_as_the_user_wrote_it() -> None:
    assert "UPPER( name )  -- loud" == built("UPPER( name )  -- loud").sql


def test_references_are_the_names_of_the_scope_that_are_read() -> None:
    expression = built("exists(transfers, name -> name.amount > id) and r.description = 'x'")

    assert frozenset({"transfers", "id", "r"}) == expression.references


@pytest.mark.parametrize(
    ("text", "code", "offset"),
    [
        ("name +", "PLAN_EXPRESSION_SYNTAX", 6),
        ("name name", "PLAN_EXPRESSION_SYNTAX", 5),
        ("", "PLAN_EXPRESSION_SYNTAX", 0),
        ("'open", "PLAN_EXPRESSION_SYNTAX", 0),
        ("1 = not active", "PLAN_EXPRESSION_SYNTAX", 4),
        ("upper(nam)", "PLAN_UNKNOWN_COLUMN", 6),
        ("r.descripton", "PLAN_UNKNOWN_COLUMN", 2),
        ("NAME", "PLAN_UNKNOWN_COLUMN", 0),
        ("1 + active", "PLAN_EXPRESSION_TYPE", 4),
        ("active and id", "PLAN_EXPRESSION_TYPE", 11),
        ("id = active", "PLAN_EXPRESSION_TYPE", 0),
        ("name + name", "PLAN_EXPRESSION_TYPE", 0),
        ("id + rand()", "PLAN_NOT_DETERMINISTIC", 5),
        ("current_date", "PLAN_NOT_DETERMINISTIC", 0),
        ("born = 'today'", "PLAN_NOT_DETERMINISTIC", 7),
        ("explode(transfers)", "PLAN_NOT_A_ROW_EXPRESSION", 0),
        ("(select 1)", "PLAN_NOT_A_ROW_EXPRESSION", 1),
        ("sum(id) over (order by id)", "PLAN_NOT_A_ROW_EXPRESSION", 0),
        ("r.*", "PLAN_NOT_A_ROW_EXPRESSION", 2),
        ("sum(id)", "PLAN_AGGREGATE", 0),
        ("initcap(name)", "PLAN_NOT_PORTABLE_UNCHECKED", 0),
        ("born + interval 1 day", "PLAN_NOT_PORTABLE_UNCHECKED", 7),
    ],
)
def test_what_cannot_stand_is_refused_where_it_stands(text: str, code: str, offset: int) -> None:
    problem = refused(text)

    assert (code, offset) == (problem.code, problem.offset)


def test_the_nearest_column_is_hinted() -> None:
    assert 'Use "description".' == refused("r.descripton").hint


def test_a_problem_survives_a_process_border() -> None:
    problem = pickle.loads(pickle.dumps(refused("upper(nam)")))

    assert ("PLAN_UNKNOWN_COLUMN", 6) == (problem.code, problem.offset)


def test_an_analyser_types_what_lies_outside_the_portable_subset() -> None:
    analyser = Analyser()

    expression, _ = build_expression("initcap(name)", SCOPE, analyser=analyser)

    assert Expression("initcap(name)", STRING, frozenset({"name"})) == expression
    assert not expression.portable
    assert ["initcap(name)"] == analyser.asked


def test_an_analyser_types_syntax_that_only_spark_reads() -> None:
    text = "date_format(born + interval 1 day, 'yyyy')"

    expression, _ = build_expression(text, SCOPE, analyser=Analyser())

    assert Expression(text, STRING, frozenset({"born"})) == expression
    assert not expression.portable


def test_without_an_analyser_the_caller_is_asked_for_one() -> None:
    with pytest.raises(NotPortableError):
        built("initcap(name)")


def test_an_aggregate_is_lifted_out_of_its_expression() -> None:
    expression, aggregates = aggregated("sum(transfers.amount * 2) + 1", first=3)

    assert Expression("__agg_3 + 1", LONG, frozenset({"__agg_3"})) == expression
    argument = Expression("amount * 2", INT, frozenset({"amount"}))
    assert (Aggregate("__agg_3", "transfers", "sum", argument, None, LONG),) == aggregates


def test_a_filter_reads_the_embed_with_or_without_its_name() -> None:
    _, (first, second) = aggregated(
        "count(transfers) filter (where transfers.kind = 'a')"
        " + count(transfers) filter (where kind = 'b')"
    )

    assert ("kind = 'a'", "kind = 'b'") == (_text(first.filter), _text(second.filter))


def test_an_aggregate_that_stands_twice_is_kept_once() -> None:
    expression, aggregates = aggregated("max(transfers.amount) - max( transfers.amount )")

    assert "__agg_0 - __agg_0" == expression.sql
    assert 1 == len(aggregates)


def test_parentheses_and_spaces_of_an_argument_stay() -> None:
    _, (aggregate,) = aggregated("avg( (transfers . amount + 1) * (2) )")

    assert "(amount + 1) * (2)" == _text(aggregate.argument)


def test_an_embed_is_a_list_outside_aggregates() -> None:
    expression, aggregates = aggregated("size(transfers) > 0 and by_kind['x'].amount > 1")

    assert frozenset({"transfers", "by_kind"}) == expression.references
    assert () == aggregates


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("count(transfers.kind)", LONG),
        ("sum(transfers.amount)", LONG),
        ("avg(transfers.amount)", DOUBLE),
        ("min(transfers.kind)", STRING),
        ("sum(cast(transfers.amount as decimal(6,2)))", Decimal(16, 2)),
        ("avg(cast(transfers.amount as decimal(6,2)))", Decimal(10, 6)),
        ("sum(transfers.amount * 0.5D)", DOUBLE),
        ("sum(by_kind.amount)", LONG),
    ],
)
def test_an_aggregate_has_the_type_of_its_function(text: str, kind: DataType) -> None:
    assert kind == aggregated(text)[0].type


@pytest.mark.parametrize(
    ("text", "code", "offset"),
    [
        ("1 + sum(transfers.amout)", "PLAN_UNKNOWN_COLUMN", 18),
        ("sum(transfers.amount + transfers.kin)", "PLAN_UNKNOWN_COLUMN", 33),
        ("sum(transfers.amount + id)", "PLAN_AGGREGATE", 23),
        ("count(transfers) filter (where id = 1)", "PLAN_AGGREGATE", 31),
        ("count(transfers) filter (where transfers.amount)", "PLAN_EXPRESSION_TYPE", 31),
        ("sum(transfers.kind)", "PLAN_EXPRESSION_TYPE", 4),
        ("sum(transfers)", "PLAN_AGGREGATE", 0),
        ("sum(id)", "PLAN_AGGREGATE", 0),
        ("count(*)", "PLAN_AGGREGATE", 0),
        ("count(distinct transfers.kind)", "PLAN_AGGREGATE", 0),
        ("collect_list(transfers.kind)", "PLAN_AGGREGATE", 0),
        ("max(by_kind.amount + transfers.amount)", "PLAN_AGGREGATE", 0),
        ("max(exists(array(1), amount -> transfers.amount = 1))", "PLAN_AGGREGATE", 31),
    ],
)
def test_an_aggregate_that_cannot_be_kept_is_refused(text: str, code: str, offset: int) -> None:
    problem = refused(text, embeds=EMBEDS)

    assert (code, offset) == (problem.code, problem.offset)


def _text(expression: Expression | None) -> str:
    return "" if expression is None else expression.sql


@pytest.mark.parametrize("text", [" + ".join(["id"] * 2000), "(" * 400 + "id" + ")" * 400])
def test_an_expression_that_is_too_deep_is_one_clear_line(text: str) -> None:
    with pytest.raises(ExpressionError, match="nested too deeply") as refused:
        build_expression(text, SCOPE)

    assert "PLAN_EXPRESSION_DEPTH" == refused.value.code


def test_what_is_not_portable_says_so_first_and_that_it_was_not_checked_apart() -> None:
    with pytest.raises(NotPortableError) as caught:
        build_expression("initcap(name)", SCOPE)

    told = (caught.value.message, caught.value.detail)
    assert ('the function "initcap" is outside the portable subset', "It was not checked.") == told


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("uper(name)", 'Use "upper", or check it with Spark.'),
        ("soundex(name)", "Check it with Spark, or use what docs/expressions.md lists."),
    ],
)
def test_a_function_is_hinted_where_one_of_the_portable_subset_is_near(
    text: str, hint: str
) -> None:
    with pytest.raises(NotPortableError) as caught:
        build_expression(text, SCOPE)

    assert hint == caught.value.hint


def test_a_misspelled_aggregate_of_a_groups_rows_is_told_as_such() -> None:
    with pytest.raises(ExpressionError) as caught:
        build_expression("1 + sm(amount)", {}, rows={"amount": LONG})

    told = caught.value
    assert ("PLAN_UNKNOWN_FUNCTION", 4, 'Use "sum".') == (told.code, told.offset, told.hint)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("sin(sum(amount))", "PLAN_NOT_PORTABLE_UNCHECKED"),
        ("amount in (1, 2)", "PLAN_UNKNOWN_COLUMN"),
    ],
)
def test_neither_a_function_over_aggregates_nor_an_operator_is_a_misspelled_aggregate(
    text: str, code: str
) -> None:
    with pytest.raises(ExpressionError) as caught:
        build_expression(text, {}, rows={"amount": LONG})

    assert code == caught.value.code
