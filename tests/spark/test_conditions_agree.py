"""A stored condition is refused by the kernel exactly where it is refused in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.expressions import CASES, SCOPE

from joinery.expression.condition import MOST_CHARACTERS, build_condition
from joinery.expression.problem import ExpressionError
from joinery.model.type import quoted
from joinery.solutions.spark_state.searching import condition_functions

pytestmark = [pytest.mark.spark]

ACCEPTED = """
i = 1
i = 1 and s = 'x' or not b
b
not b
i in (1, 2, 3)
i not in (1, null)
s in ("a", 'b')
i between 1 and 5 and d < 1.5 and dc >= 2
i between -1 and +1
s like 'a%' or s not like '_b' or s ilike 'A%'
dt >= date'2024-01-01' and ts < timestamp'2024-01-01 00:00:00'
dt > '2024-01-01'
s is null or s is not null
s <=> null
b is true or b is not false
i is distinct from j
exists(xs, x -> x > 1)
exists(xs, x -> x > i)
forall(ss, x -> length(x) > 1 and exists(xs, y -> y = i))
size(filter(xs, x -> x > 1)) > 0
element_at(m, 'k') = 1
xs[0] = 1
m['k'] > 1
st.p = 1 and st.q = 'a'
size(sts.p) > 0
lower(s) = 'a' and concat(s, t) = 'x' and s || t = 'xy'
case when i > 1 then true else false end
case i when 1 then true end
if(i > 1, b, not b)
coalesce(i, 0) > 1
cast(s as int) = 1
try_cast(s as int) = 1
s::int = 1
i + 1 > 2 * j - 3
i / 2 > 1
i div 2 = 1 and i % 2 = 1
array_contains(xs, 1)
date_trunc('day', ts) = timestamp'2024-01-01'
year(dt) = 2024
i = 1 -- a comment
i = /* two */ 1
i = 1L and d = 1e3 and f = 1.5F
s = 'it''s' and t = 'a\\tb' and s = r'raw'
`i` = 1
true
i > 1.5
dc = 1
l = 2147483648
named_struct('a', 1).a = i
s like '%a%b%' or s like null or s ilike 'A%'
replace(s, 'a', 'b') = 'x' or replace(s, 'a') = 'x'
size(split(s, ',')) > 1
exists(xs, x -> exists(xs, y -> x = y)) and exists(xs, x -> x = 1)
""".strip().splitlines()
REFUSED = """
i
i +
i =
nothing = 1
user = 'ann'
current_date > dt
current_date() > dt
now() > ts
rand() < 0.5
uuid() = s
i = 1 limit 3
i = 1; select 1
exists(select 1)
i in (select 1)
(select 1) = i
sum(i) > 1
count(*) > 1
row_number() over (order by i) = 1
rlike(s, 'a.*')
s rlike 'a.*'
regexp_like(s, 'a')
s like 'a' escape '/'
s like any ('a', 'b')
s ilike 'a' escape '/'
explode(xs) = 1
java_method('java.lang.System', 'exit') = s
reflect('java.lang.System', 'exit') = s
sleep(1) = 1
xs = 1
m = m
st = 1
i.p = 1
st.z = 1
ts = date
dt = date'today'
ts > 'now'
cast('today' as date) = dt
cast(d as string) = 'x'
interval 1 day = ts
dt + interval 1 day > dt
i & 1 = 1
~i = 1
transform(xs, x -> x + 1)
exists(xs, x -> z > 1)
i = 1 as x
i, j
*
a.b.c = 1
current_user() = s
input_file_name() = s
abs() = 1
unknown_function(i) = 1
spark_partition_id() = 1
make_interval(1) = s
date'2024-02-30' = dt
i = 99999999999999999999999999999999999999999
'x'
s like t
s ilike concat('%', t)
like(s, lower('A%'))
replace(s, 'a', t) = 'x'
replace(s, t) = 'x'
repeat(s, 2) = 'xx'
lpad(s, 3, 'x') = 'xxs'
rpad(s, 3) = 's  '
size(split(s, '(a+)+b')) > 1
size(split(s, t)) > 1
exists(xs, x -> exists(xs, y -> exists(xs, z -> x = y and y = z)))
""".strip("\n").splitlines()


@pytest.fixture(scope="module")
def kernel(spark: SparkSession) -> Any:
    jvm = spark._jvm
    assert jvm is not None
    ddl = ", ".join(f"{quoted(name)} {kind.ddl}" for name, kind in SCOPE.items())
    names = jvm.java.util.HashSet()
    for each in condition_functions():
        names.add(each)
    row = jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl)
    return jvm.dev.joinery.kernel.search.Conditions(row, names, MOST_CHARACTERS)


def refused_by_kernel(kernel: Any, spark: SparkSession, texts: Sequence[str]) -> dict[str, str]:
    """Return why the kernel refuses texts; empty for what it takes."""
    jvm = spark._jvm
    assert jvm is not None
    given = jvm.java.util.ArrayList()
    for each in texts:
        given.add(each)
    return {text: read.broken() or "" for text, read in zip(texts, kernel.read(given), strict=True)}


def refused_in_python(text: str) -> str:
    """Return why a condition is refused in Python; empty for what is taken."""
    try:
        build_condition(text, SCOPE)
    except ExpressionError as error:
        return error.message
    return ""


def test_what_is_accepted_is_accepted_by_both(kernel: Any, spark: SparkSession) -> None:
    found = refused_by_kernel(kernel, spark, ACCEPTED)

    assert {} == {text: why for text, why in found.items() if why}
    assert {} == {text: why for text in ACCEPTED if (why := refused_in_python(text))}


def test_what_is_refused_is_refused_by_both(kernel: Any, spark: SparkSession) -> None:
    found = refused_by_kernel(kernel, spark, REFUSED)

    assert [] == [text for text, why in found.items() if not why]
    assert [] == [text for text in REFUSED if not refused_in_python(text)]


def test_every_portable_expression_may_stand_in_a_condition(
    kernel: Any, spark: SparkSession
) -> None:
    lines = CASES.read_text(encoding="utf-8").splitlines()
    texts = [f"({each}) is null" for each in lines if each and not each.startswith("--")]

    found = refused_by_kernel(kernel, spark, texts)

    assert [] == [each for each in texts if bool(found[each]) != bool(refused_in_python(each))]


def test_a_condition_that_is_empty_or_too_long_is_refused_by_both(
    kernel: Any, spark: SparkSession
) -> None:
    long = "i = 1" + " " * MOST_CHARACTERS
    texts = ["", "  \n", long, long[:MOST_CHARACTERS]]

    found = refused_by_kernel(kernel, spark, texts)

    assert [True, True, True, False] == [bool(found[each]) for each in texts]
    assert [True, True, True, False] == [bool(refused_in_python(each)) for each in texts]


def test_a_condition_that_nests_deeply_is_refused_by_both(kernel: Any, spark: SparkSession) -> None:
    texts = [
        "i" + " + 1" * 2_000 + " > 0",
        "(" * 4_000 + "b" + ")" * 4_000,
        "not " * 2_000 + "b",
        "coalesce(" * 800 + "b" + ")" * 800,
        "(" * 51 + "b" + ")" * 51,
        "xs[" * 51 + "1" + "]" * 51 + " = 1",
    ]

    found = refused_by_kernel(kernel, spark, texts)

    assert [] == [text for text in texts if not found[text]]
    assert [] == [text for text in texts if not refused_in_python(text)]


def test_fifty_brackets_in_each_other_are_accepted_by_both(
    kernel: Any, spark: SparkSession
) -> None:
    texts = [
        "coalesce(" * 50 + "b" + ")" * 50,
        "s = '" + "(" * 60 + "'",
        "s = '\\'" + "(" * 60 + "'",
        "(b) or " * 60 + "b",
        "s = '" + "x(" * 4_000 + "'",
        "s = '" + "\\\\(" * 2_000 + "'",
    ]

    found = refused_by_kernel(kernel, spark, texts)

    assert [""] * len(texts) == [found[text] for text in texts]
    assert [""] * len(texts) == [refused_in_python(text) for text in texts]


def test_a_long_list_of_alternatives_is_accepted_by_both(kernel: Any, spark: SparkSession) -> None:
    text = " or ".join(f"i = {number}" for number in range(200))

    assert ["", ""] == [refused_by_kernel(kernel, spark, [text])[text], refused_in_python(text)]
