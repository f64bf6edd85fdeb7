"""What real-time mode cannot run is refused with every reason; what it can goes to one Kafka."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joinery.dead_letters.open import dead_letter_reader, dead_letter_writer
from joinery.errors import ProjectErrors
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.sinks.protocol import make_sink
from joinery.spark.real_time.rules import (
    DriverTarget,
    KafkaTopic,
    RealTimeRefusedError,
    RealTimeTarget,
    check_local,
    check_slots,
    kafka_topics,
    real_time_target,
    refused_queries,
)
from joinery.spark.source.source import sources_of

PROJECT = """\
name: people
sources: {{changes: {source}}}
relations: {{user: {{key: [id], fields: {{id: long, name: string}}, format: json}}}}
products:
  profile: {{root: user, sink: {sink}{more}}}
run: {{dead_letters: {letters}}}
"""
SOURCE = "{kafka: {bootstrap: 'here:9092', properties: {security.protocol: SSL}}}"
SINK = "{kafka: {topic: profiles}}"
LETTERS = "{kafka: {topic: dead}}"


def declared(
    folder: Path, *, source: str = SOURCE, sink: str = SINK, letters: str = LETTERS, more: str = ""
) -> ProjectSpec:
    text = PROJECT.format(source=source, sink=sink, letters=letters, more=more)
    (folder / "joinery.yaml").write_text(text, encoding="utf-8")
    return load_spec(folder / "joinery.yaml")


def found_target(spec: ProjectSpec) -> RealTimeTarget | DriverTarget:
    products = build_plan(spec).products
    return real_time_target(spec, products[0].query, products, sources_of(spec, products))


def target(spec: ProjectSpec) -> RealTimeTarget:
    found = found_target(spec)
    assert isinstance(found, RealTimeTarget)
    return found


def refusal(spec: ProjectSpec) -> str:
    with pytest.raises(RealTimeRefusedError) as refused:
        target(spec)
    return f"{refused.value.message} {refused.value.detail}"


def test_records_go_to_the_kafka_of_the_source_with_its_security(tmp_path: Path) -> None:
    found = target(declared(tmp_path))

    security = (("security.protocol", "SSL"),)
    assert (
        RealTimeTarget(
            {"profile": (KafkaTopic("profiles", "here:9092", security),)},
            KafkaTopic("dead", "here:9092", security),
        )
        == found
    )


def test_a_sink_may_name_its_own_kafka(tmp_path: Path) -> None:
    spec = declared(tmp_path, sink="{kafka: {topic: profiles, bootstrap: 'there:9092'}}")

    found = kafka_topics(build_plan(spec).products)

    assert {"profile": (KafkaTopic("profiles", "there:9092"),)} == found


HERE_SINK = "{kafka: {topic: profiles, bootstrap: 'here:9092'}}"
HERE_LETTERS = "{kafka: {topic: dead, bootstrap: 'here:9092'}}"


def from_database(folder: Path, database: str, relation: str = "format: debezium-json") -> str:
    """Return why a project that reads a database in real time is refused; empty where it is not."""
    declared(folder, source=database, sink=HERE_SINK, letters=f"{HERE_LETTERS}, real_time: true")
    text = (folder / "joinery.yaml").read_text(encoding="utf-8")
    (folder / "joinery.yaml").write_text(text.replace("format: json", relation), encoding="utf-8")
    spec = load_spec(folder / "joinery.yaml")
    try:
        target(spec)
    except RealTimeRefusedError as error:
        return error.message
    return ""


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_database_is_read_but_for_logs_of_events(tmp_path: Path, kind: str) -> None:
    scheme = {"postgres": "postgresql"}.get(kind, kind)
    database = f"{{{kind}: {{url: '{scheme}://here/shop'}}}}"

    assert "" == from_database(tmp_path, database)
    assert 'relation "user" is append' in from_database(tmp_path, database, "append: true")


def test_a_topic_in_avro_has_no_keys_that_could_be_read_back(tmp_path: Path) -> None:
    """A query may have gone on in batches, into another topic."""
    avro = "{kafka: {topic: profiles, format: avro, registry: {url: 'http://there:8081'}}}"
    spec = declared(tmp_path, sink=avro)

    assert {"profile": ()} == kafka_topics(build_plan(spec).products)


def test_the_kernel_is_told_topics_in_its_order_with_the_size_they_take_and_their_names() -> None:
    here = RealTimeTarget(
        {"b": (KafkaTopic("two", "here:9092"),), "a": (KafkaTopic("one", "here:9092"),)},
        KafkaTopic("dead", "here:9092"),
    )

    told = here.to_json(["a", "b"], {"one": 1, "two": 2, "dead": 3})

    one = {"topic": "one", "maxBytes": 1, "sink": "kafka topic one at here:9092"}
    two = {"topic": "two", "maxBytes": 2, "sink": "kafka topic two at here:9092"}
    dead = {"topic": "dead", "maxBytes": 3, "sink": "kafka topic dead at here:9092"}
    assert {"topics": [[one], [two]], "deadLetters": dead} == json.loads(told)


def test_the_kernel_names_a_sink_as_a_replay_does(tmp_path: Path) -> None:
    spec = declared(tmp_path)
    (product,) = build_plan(spec).products
    (sink,) = product.sinks

    (topic,) = kafka_topics([product])["profile"]

    made = make_sink(sink.kind, "profile", dict(sink.options), tmp_path)
    assert made.target == topic.to_map(1)["sink"]


def test_without_a_place_dead_letters_get_a_topic_named_after_the_project(tmp_path: Path) -> None:
    spec = declared(tmp_path, letters="{files: {path: .joinery/dead_letters}}, real_time: true")

    found = target(spec).dead_letters

    security = (("security.protocol", "SSL"),)
    assert KafkaTopic("people-dead-letters", "here:9092", security) == found
    assert "kafka topic people-dead-letters at here:9092" == dead_letter_reader(spec).target
    assert (
        "kafka topic people-dead-letters at here:9092" == dead_letter_writer(spec, "profile").target
    )


def test_in_batches_dead_letters_without_a_place_stay_in_files(tmp_path: Path) -> None:
    spec = declared(tmp_path, letters="{files: {path: .joinery/dead_letters}}")

    assert str(tmp_path / ".joinery/dead_letters") in dead_letter_reader(spec).target


def test_a_run_that_is_to_be_audited_is_refused(tmp_path: Path) -> None:
    spec = declared(tmp_path, letters=f"{LETTERS}, audit: {{}}")

    assert "run.audit compares what was committed" in refusal(spec)


def test_two_kafkas_are_refused(tmp_path: Path) -> None:
    spec = declared(tmp_path, sink="{kafka: {topic: profiles, bootstrap: 'there:9092'}}")

    assert "its topics are in several Kafka clusters" in refusal(spec)


def test_topics_of_one_kafka_that_are_written_in_different_ways_are_told_so(tmp_path: Path) -> None:
    sink = "{kafka: {topic: profiles, bootstrap: 'here:9092', properties: {linger.ms: 5}}}"

    told = refusal(declared(tmp_path, sink=sink))

    assert "its topics (profiles, dead) have different properties" in told
    assert "several Kafka clusters" not in told


def test_the_same_properties_in_another_order_are_one_set(tmp_path: Path) -> None:
    there = "{security.protocol: SSL, ssl.endpoint.identification.algorithm: https}"
    here = "{ssl.endpoint.identification.algorithm: https, security.protocol: SSL}"
    source = f"{{kafka: {{bootstrap: 'here:9092', properties: {there}}}}}"
    sink = f"{{kafka: {{topic: profiles, bootstrap: 'here:9092', properties: {here}}}}}"

    found = target(declared(tmp_path, source=source, sink=sink))

    assert ["profiles", "dead"] == [each.topic for each in found.places]


def test_all_reasons_are_told_at_once(tmp_path: Path) -> None:
    told = refusal(
        declared(
            tmp_path,
            source="{files: {path: in}}",
            sink="{files: {path: out}}",
            letters="{files: {path: dead}}",
            more=", emit: {settle: 2s}, ready: [user]",
        )
    )

    assert 'query "profile" cannot run in real-time mode: source "changes" is of kind files' in told
    assert "waits for quiet (emit: settle)" in told
    assert "waits for relations (ready)" in told
    assert "has a sink of kind files; real time writes to Kafka" in told
    assert "needs run.dead_letters: {kafka: {topic: …}}" in told


@pytest.mark.parametrize("retroactive", [True, False])
def test_a_search_that_keeps_its_documents_runs(tmp_path: Path, retroactive: bool) -> None:
    text = PROJECT.format(source=SOURCE, sink=SINK, letters=LETTERS, more="").replace(
        "root: user",
        f"search: user, queries: saved, query: text, retroactive: {str(retroactive).lower()}",
    )
    saved = "saved: {key: [id], fields: {id: long, text: string}, format: json}, user:"
    text = text.replace("user:", saved, 1)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    spec = load_spec(tmp_path / "joinery.yaml")

    if retroactive:
        assert {"profile"} == {*target(spec).topics}
    else:
        assert "keeps no documents (retroactive: false) to send again" in refusal(spec)


def test_a_topic_for_two_products_is_refused(tmp_path: Path) -> None:
    spec = declared(tmp_path, more=", group: one}\n  names: {root: user, group: one, sink: " + SINK)

    assert 'topic "profiles" would be written twice' in refusal(spec)


def test_a_shortage_of_task_slots_is_told_with_the_number_needed() -> None:
    with pytest.raises(RealTimeRefusedError) as refused:
        check_slots("profile", 11, 8)

    assert "needs 11 task slots" in refused.value.message
    assert "local[11]" in refused.value.hint


def test_enough_task_slots_pass() -> None:
    check_slots("profile", 8, 8)


def test_an_interval_that_spark_does_not_take_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectErrors) as refused:
        declared(tmp_path, letters=LETTERS + ", checkpoint_interval: 1s")

    assert '"checkpoint_interval" cannot be "1s"' in str(refused.value)


@pytest.mark.parametrize(
    ("match", "emit", "why"),
    [
        ("A -> B", "changed", ""),
        ("A not B", "changed", "is sent once it is decided"),
        ("A -> B", "closed", "is sent once it is decided"),
    ],
)
def test_a_pattern_that_waits_for_nothing_runs(
    tmp_path: Path, match: str, emit: str, why: str
) -> None:
    form = (
        f"pattern: user, match: '{match}', define: {{B: name = A.name}}, within: 1m,"
        f" emit: {{when: {emit}}}"
    )
    text = PROJECT.format(source=SOURCE, sink=SINK, letters=LETTERS, more="")
    text = text.replace("root: user", form).replace("name: string}", "name: string, at: timestamp}")
    text = text.replace("format: json", "format: json, time: at")
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    spec = load_spec(tmp_path / "joinery.yaml")

    if why:
        assert why in refusal(spec)
    else:
        assert {"profile"} == {*target(spec).topics}


def test_check_names_each_query_that_cannot_run_at_its_place(tmp_path: Path) -> None:
    more = ", emit: {settle: 2s}}\n  names: {root: user, sink: {kafka: {topic: names}}"
    spec = declared(tmp_path, more=more)

    (refused,) = refused_queries(spec, build_plan(spec))

    assert 'query "profile" cannot run in real-time mode' in refused.message
    assert refused.location is not None
    assert 5 == refused.location.line


@pytest.mark.parametrize(("wait", "runs"), [("0s", True), ("7 events", True), ("1m", False)])
def test_a_fold_that_waits_by_count_runs(tmp_path: Path, wait: str, runs: bool) -> None:
    form = (
        f"fold: user, sequence: id, kind: name, state: {{n: int}}, when: {{a: {{n: 1}}}},"
        f" wait: {wait}"
    )
    text = PROJECT.format(source=SOURCE, sink=SINK, letters=LETTERS, more="")
    text = text.replace("root: user", form).replace("format: json", "format: json, append: true")
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    spec = load_spec(tmp_path / "joinery.yaml")

    if runs:
        assert {"profile"} == {*target(spec).topics}
    else:
        assert "waits for missing numbers by time (wait)" in refusal(spec)


SEARCH = "{opensearch: {url: 'http://here:9200'}}"


def test_opensearch_is_written_by_the_driver_and_dead_letters_may_stay_in_files(
    tmp_path: Path,
) -> None:
    spec = declared(tmp_path, sink=SEARCH, letters="{files: {path: dead}}")

    assert DriverTarget() == found_target(spec)


def test_opensearch_beside_kafka_or_by_tasks_is_refused(tmp_path: Path) -> None:
    both = refusal(declared(tmp_path, sink=f"[{SINK}, {SEARCH}]"))
    tasks = refusal(
        declared(tmp_path, sink="{opensearch: {url: 'http://here:9200', parallel: tasks}}")
    )

    assert "has a sink of kind opensearch" in both
    assert "has parallel: tasks, and in real time the driver writes" in tasks


def test_products_of_a_group_go_all_to_topics_or_all_to_the_driver(tmp_path: Path) -> None:
    more = f", group: all}}\n  names: {{root: user, group: all, sink: {SEARCH}"

    told = refusal(declared(tmp_path, more=more))

    assert 'product "names" has a sink of kind opensearch' in told


def test_the_driver_takes_documents_from_tasks_of_its_own_process_only() -> None:
    check_local("people", "local[8]")
    with pytest.raises(RealTimeRefusedError):
        check_local("people", "spark://there:7077")
    with pytest.raises(RealTimeRefusedError, match="local-cluster"):
        check_local("people", "local-cluster[2,1,1024]")
