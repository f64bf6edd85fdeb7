"""Sinks are found by name: the built-in ones, and those of installed packages."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from joinery.errors import SinkOptionError
from joinery.model.type import LONG, Field, Struct
from joinery.project.kinds import (
    LOOKUP_STORES,
    SINKS,
    PackageError,
    Registry,
    UnknownKindError,
)
from joinery.project.load import load_parts
from joinery.project.option import options
from joinery.project.schema import schema
from joinery.sinks.files import FilesSink
from joinery.sinks.protocol import StagedBatch, make_sink

EXAMPLE = Path(__file__).parents[3] / "examples/plugin_sink"
SHAPE = Struct((Field("id", LONG),))


BROKEN = """
import sys
from joinery.project.option import Target, options

class Sink:
    target, guarantee = "there", None
    def open(self): ...
    def write(self, batch): ...

@options
class Unmade:
    def make(self, product, folder): return Sink()
    def target(self, product, folder): return Target("there", product, product)

@options
class Raising:
    def make(self, product, folder): sys.exit("no licence")
    def target(self, product, folder): raise ValueError("no name")

@options
class Untold:
    def target(self, product, folder): return "there"

class Undeclared:
    def make(self, product, folder): return Sink()

NUMBER = 5
"""


def install(site: Path, package: str, points: str) -> None:
    """Put what pip leaves of a package with some entry points into a folder."""
    facts = site / f"{package}-0.1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\n")
    (facts / "entry_points.txt").write_text(points)


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package whose sinks are wrong in one way each."""
    site = tmp_path / "site"
    kinds = ("Unmade", "Raising", "Untold", "Undeclared", "NUMBER", "Gone")
    points = "".join(f"{each.lower()} = broken_sinks:{each}\n" for each in kinds)
    install(site, "broken", f"[joinery.sinks]\n{points}unfound = nowhere_sinks:Options\n")
    (site / "broken_sinks.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(str(site))
    yield
    sys.modules.pop("broken_sinks", None)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example package on the path, with the entry point that its wheel would have."""
    points = "[joinery.sinks]\nfolder = joinery_folder_sink:FolderOptions\n"
    install(tmp_path / "site", "joinery-folder-sink", points)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.syspath_prepend(str(EXAMPLE / "src"))


def batch(file: Path, *lines: str) -> StagedBatch:
    file.write_text("".join(f"{line}\n" for line in lines))
    return StagedBatch(
        product="p",
        query="p",
        query_id="q",
        batch_id=0,
        files=(file,),
        key=SHAPE,
        value=SHAPE,
    )


def test_a_built_in_sink_is_made_by_its_name(tmp_path: Path) -> None:
    assert isinstance(make_sink("files", "p", {"path": "out"}, tmp_path), FilesSink)


def test_an_unknown_sink_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownKindError) as refused:
        make_sink("sqlit", "p", {}, tmp_path)

    assert 'sink "sqlit" is not installed' == refused.value.message
    assert refused.value.code == "SPEC_UNKNOWN_SINK"
    assert refused.value.hint == 'Use "sqlite".'


@pytest.mark.usefixtures("installed")
def test_a_package_adds_a_sink_by_its_entry_point(tmp_path: Path) -> None:
    sink = make_sink("folder", "p", {"path": "out"}, tmp_path)
    sink.open()
    file = tmp_path / "staged.jsonl"

    sink.write(batch(file, '{"key":{"id":1},"value":{"id":1},"version":5}'))
    sink.write(batch(file, '{"key":{"id":1},"value":null,"version":4}'))

    assert "folder" in SINKS
    expected = {"version": 5, "document": {"id": 1}}
    assert expected == json.loads((tmp_path / "out/p/1.json").read_text())


@pytest.mark.usefixtures("installed")
def test_the_options_of_a_package_are_checked_where_they_stand(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(
        "sources: {changes: {files: {path: data}}}\n"
        "relations: {user: {key: [id], fields: {id: long}}}\n"
        "products:\n"
        "  p: {root: user, sink: {folder: {pth: out, spool: true}}}\n"
        "  q: {root: user, sink: {folder: {path: 5}}}\n"
    )

    _, problems = load_parts(file)

    assert [
        (35, '"folder" of "sink" of product "p" has no key "pth"', 'Use "path".'),
        (26, '"folder" of "sink" of product "p" needs "path"', ""),
        (41, '"path" of "folder" of "sink" of product "q" needs a text', ""),
    ] == [(each.location.column, each.message, each.hint) for each in problems if each.location]
    assert "path" in str(schema()["$defs"]["sink_map"]["properties"]["folder"])


@pytest.mark.parametrize("registry", [SINKS, LOOKUP_STORES], ids=lambda each: each.noun)
def test_each_kind_says_what_it_makes_and_what_it_keeps(registry: Registry) -> None:
    silent = [
        (kind, method)
        for kind in registry.built_in
        for method in ("make", "target")
        if not hasattr(registry.options(kind), method)
    ]

    assert [] == silent


def test_a_package_may_name_a_plain_function(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []

    def folder_sink(product: str, options: object, folder: Path) -> object:
        given.append((product, options, folder))
        return FilesSink(folder)

    monkeypatch.setattr(Registry, "find", lambda registry, name: folder_sink)

    make_sink("other", "p", {"path": "out", "spool": True}, Path("here"))

    assert [("p", {"path": "out"}, Path("here"))] == given
    assert SINKS.known("files") is None


@options
class SilentOptions:
    """The options of a package's sink that does not say what it keeps."""

    def make(self, product: str, folder: Path) -> object:
        return product, folder


def test_a_package_that_does_not_say_what_a_sink_keeps_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Registry, "find", lambda registry, name: SilentOptions)
    monkeypatch.setattr(Registry, "__contains__", lambda registry, name: True)

    with pytest.raises(SinkOptionError) as refused:
        SINKS.target("silent", {}, "p", Path())

    assert 'the options of sink "silent" have no method "target"' == refused.value.message
    assert "SilentOptions" in refused.value.detail


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    ("kind", "message", "detail"),
    [
        (
            "unfound",
            'of package "broken" cannot be imported',
            "ModuleNotFoundError: No module named 'nowhere_sinks'.",
        ),
        (
            "gone",
            'of package "broken" cannot be imported',
            "AttributeError: module 'broken_sinks' has no attribute 'Gone'.",
        ),
        ("number", 'of package "broken" cannot be used: it is neither a class made by', ""),
        ("undeclared", "it is neither a class made by `options` nor a function", ""),
        ("unmade", '"make" returns Sink, which has no "close"', ""),
        ("raising", '"make" raised SystemExit: no licence (broken_sinks.py:17)', ""),
    ],
)
def test_a_package_that_makes_no_sink_is_told_as_its_own_fault(
    tmp_path: Path, kind: str, message: str, detail: str
) -> None:
    with pytest.raises(PackageError) as refused:
        make_sink(kind, "p", {}, tmp_path)

    assert message in refused.value.message
    assert detail in refused.value.detail
    assert f'sink "{kind}"' in refused.value.message


@pytest.mark.usefixtures("broken")
def test_no_line_of_what_loads_packages_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a library has imported the backport of `importlib.metadata`."""
    space: dict[str, Any] = {"load": EntryPoint.load}
    source = "def backported(self): return load(self)"
    exec(compile(source, "/site/importlib_metadata/__init__.py", "exec"), space)
    monkeypatch.setattr(EntryPoint, "load", space["backported"])

    with pytest.raises(PackageError, match="cannot be imported") as refused:
        make_sink("gone", "p", {}, tmp_path)

    assert "__init__.py" not in refused.value.detail


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("raising", '"target" raised ValueError: no name (broken_sinks.py:18)'),
        ("untold", '"target" returns str, not a Target'),
    ],
)
def test_a_package_that_fails_to_say_what_it_keeps_is_told_as_its_own_fault(
    tmp_path: Path, kind: str, message: str
) -> None:
    with pytest.raises(PackageError, match=re.escape(message)):
        SINKS.target(kind, {}, "p", tmp_path)


@pytest.mark.usefixtures("broken")
def test_a_package_that_cannot_be_imported_is_a_problem_at_its_place(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(
        "sources: {changes: {files: {path: data}}}\n"
        "relations: {user: {key: [id], fields: {id: long}}}\n"
        "products:\n"
        "  p: {root: user, sink: {unfound: {path: out}}}\n"
    )

    _, problems = load_parts(file)

    (problem,) = problems
    assert "SPEC_PACKAGE" == problem.code
    assert problem.location is not None
    assert (4, 26) == (problem.location.line, problem.location.column)


@pytest.mark.usefixtures("installed")
def test_a_name_that_two_packages_have_means_neither(tmp_path: Path) -> None:
    install(tmp_path / "site", "other", "[joinery.sinks]\nfolder = math:sqrt\n")

    with pytest.raises(PackageError) as refused:
        SINKS.find("folder")

    told = 'sink "folder" is in several packages: joinery-folder-sink, other'
    assert told == refused.value.message


def test_the_example_names_its_entry_point() -> None:
    text = (EXAMPLE / "pyproject.toml").read_text()

    assert '[project.entry-points."joinery.sinks"]' in text
    assert 'folder = "joinery_folder_sink:FolderOptions"' in text
