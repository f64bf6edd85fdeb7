"""Topics of Kafka that nobody writes, and others that look like them."""

from __future__ import annotations

from joinery.model.warning import RunWarning
from joinery.project.kind import SinkSpec, SourceSpec
from joinery.project.node import NodeSpec
from joinery.project.product import ProductSpec, ProjectSpec
from joinery.project.relation import RelationSpec
from joinery.project.run import RunSpec
from joinery.spark.source.source import SourceRead
from joinery.spark.source.warning import TopicNames, topic_warnings

SOURCE = SourceSpec("kafka", "kafka", (("bootstrap", "localhost:9092"),))


def shop(*topics: str, writes: str = "documents") -> ProjectSpec:
    relations = tuple(RelationSpec(f"r{at}", topic=each) for at, each in enumerate(topics))
    sinks = (SinkSpec("kafka", (("topic", writes),)),)
    page = ProductSpec("page", NodeSpec("page", "root", "r0"), sinks=sinks)
    return ProjectSpec("shop", (SOURCE,), relations=relations, products=(page,), run=RunSpec())


def told(spec: ProjectSpec, *there: str, read: int = 1) -> list[RunWarning]:
    relations = {each.topic or "": (each.name,) for each in spec.relations[:read]}
    return list(topic_warnings(spec, SourceRead(SOURCE, relations), there))


def test_a_topic_like_the_one_that_is_missing_is_told() -> None:
    (warning,) = told(shop("h.public.pationt"), "h.public.patient", "h.public.ward")

    assert ("WARN_TOPIC_MISNAMED", 'relation "r0"') == (warning.code, warning.about)
    assert "there is no topic h.public.pationt yet" in warning.message
    assert "Near it: h.public.patient, which no relation reads." == warning.detail


def test_topics_that_the_project_reads_or_writes_are_not_near() -> None:
    assert [] == told(shop("shop.customer", "shop.customers"), "shop.customers")
    assert [] == told(shop("shop.customer", "pattern:.*s"), "shop.customers")
    assert [] == told(shop("shop.customer", writes="shop.customers"), "shop.customers")
    assert [] == told(shop("shop.customer"), "shop.customer.joinery-replay")


def test_a_topic_that_is_there_and_a_pattern_are_not_missed() -> None:
    assert [] == told(shop("shop.customer"), "shop.customer", "shop.customers")
    assert [] == told(shop("pattern:shop[.]custome"), "shop.customer")


def test_names_are_compared_again_only_once_others_are_there() -> None:
    spec = shop("shop.customer")
    names = TopicNames(spec, [SourceRead(SOURCE, {"shop.customer": ("r0",)})])

    found = [list(names.warnings(each)) for each in (["a"], ["a", "shop.customers"])]
    again = list(names.warnings(["shop.customers", "a"]))

    assert [0, 1] == [len(each) for each in found]
    assert [] == again
