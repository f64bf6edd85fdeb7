"""What the folders of files sources lack, and what they have that nobody reads."""

from __future__ import annotations

from pathlib import Path

from joinery.project.kind import SourceSpec
from joinery.project.product import DefaultsSpec, ProjectSpec
from joinery.project.relation import RelationSpec
from joinery.project.run import RunSpec
from joinery.project.source_warning import source_warnings

CHANGES = SourceSpec("changes", "files", (("path", "data"),))


def relation(name: str, *, topic: str | None = None) -> RelationSpec:
    return RelationSpec(name, key=("id",), fields=(("id", "long"),), topic=topic)


def shop(folder: Path, *relations: RelationSpec) -> ProjectSpec:
    return ProjectSpec("shop", (CHANGES,), relations=relations, run=RunSpec(), folder=folder)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    sources = tuple(SourceSpec(name, "files", (("path", name),)) for name in ("there", "elsewhere"))

    (told,) = source_warnings(ProjectSpec("shop", sources, run=RunSpec(), folder=tmp_path))

    assert "WARN_SOURCE_FOLDER" == told.code
    assert f'source "elsewhere": there is no folder {tmp_path}/elsewhere yet' == told.message


def test_files_that_are_not_read_for_their_names_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "data/user"
    folder.mkdir(parents=True)
    for name in ("1.jsonl", "2.json", "3.jsonl.gz", "_SUCCESS", ".4.json"):
        (folder / name).touch()

    (told,) = source_warnings(shop(tmp_path, relation("user")))

    assert "WARN_FILE_NAMES" == told.code
    assert f"2 in {folder}, such as 2.json" in told.message


def test_a_folder_like_the_one_that_is_missing_is_told(tmp_path: Path) -> None:
    for name in ("customers", "orders", "archive"):
        (tmp_path / "data" / name).mkdir(parents=True)

    (told,) = source_warnings(shop(tmp_path, relation("customer"), relation("orders")))

    assert "WARN_TOPIC_MISNAMED" == told.code
    assert 'relation "customer"' == told.about
    assert "Near it: customers, which no relation reads." == told.detail
    assert "topic: customers" in told.hint


def test_a_folder_that_another_relation_reads_is_not_near(tmp_path: Path) -> None:
    (tmp_path / "data" / "customers").mkdir(parents=True)
    reader = relation("known", topic="customers")

    assert [] == list(source_warnings(shop(tmp_path, relation("customer"), reader)))


def test_a_missing_folder_without_one_like_it_is_an_empty_topic(tmp_path: Path) -> None:
    (tmp_path / "data" / "archive").mkdir(parents=True)

    assert [] == list(source_warnings(shop(tmp_path, relation("customer"))))


def test_a_relation_of_another_source_is_not_looked_for(tmp_path: Path) -> None:
    (tmp_path / "data" / "customers").mkdir(parents=True)
    log = SourceSpec("log", "kafka", (("bootstrap", "localhost:9092"),))
    spec = ProjectSpec(
        "shop",
        (CHANGES, log),
        defaults=DefaultsSpec(source="log"),
        relations=(relation("customer"),),
        run=RunSpec(),
        folder=tmp_path,
    )

    assert [] == list(source_warnings(spec))
