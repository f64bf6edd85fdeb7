"""Solutions and their options, in a product and for the whole project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from joinery.errors import ProjectErrors, SpecError
from joinery.plan.build import build_plan
from joinery.project.kind import SolutionSpec
from joinery.project.kinds import Registry
from joinery.project.load import dump_spec, load_spec
from joinery.project.option import options, text
from joinery.project.product import ProjectSpec, with_solution
from joinery.project.schema import schema
from joinery.solutions.choose import SolutionPlace, open_solution, store_solutions

HEAD = """
sources: {changes: {files: {path: in}}}
relations:
  user: {key: [id], fields: {id: long}}
products:
  profile: {root: user}
  card: {root: user, solution: {rdbms-store: {schema: cards}}}
"""
RUN = "run: {solutions: {rdbms-store: {database: 'sqlite:///rows', schema: rows}, kv: {}}}\n"


def load(folder: Path, text: str) -> ProjectSpec:
    file = folder / "joinery.yaml"
    file.write_text(text, encoding="utf-8")
    return load_spec(file)


def problem(folder: Path, text: str) -> SpecError:
    with pytest.raises(ProjectErrors) as refused:
        load(folder, text)
    (only,) = refused.value.problems
    assert isinstance(only, SpecError)
    return only


def test_a_product_takes_the_projects_options_below_its_own(tmp_path: Path) -> None:
    plan = build_plan(load(tmp_path, HEAD + RUN))

    assert {"database": "sqlite:///rows", "schema": "cards"} == dict(
        plan.products[1].solution_options
    )


def test_another_solution_leaves_a_products_own_options_behind(tmp_path: Path) -> None:
    spec = with_solution(load(tmp_path, HEAD + RUN), "kv")

    assert [SolutionSpec("kv"), SolutionSpec("kv")] == [each.solution for each in spec.products]


def test_a_product_that_names_the_solution_keeps_its_options(tmp_path: Path) -> None:
    plan = build_plan(with_solution(load(tmp_path, HEAD + RUN), "rdbms-store"))

    assert ["rows", "cards"] == [dict(e.solution_options)["schema"] for e in plan.products]


def test_options_are_written_back(tmp_path: Path) -> None:
    spec = load(tmp_path, HEAD + RUN)

    assert spec == load(tmp_path, dump_spec(spec))


def test_an_option_that_the_solution_does_not_have(tmp_path: Path) -> None:
    refused = problem(tmp_path, HEAD + "run: {solutions: {kv: {stor: redis}}}\n")

    assert ("SPEC_UNKNOWN_KEY", 'Use "store".') == (refused.code, refused.hint)


def test_an_option_of_another_store_is_refused_where_it_stands(tmp_path: Path) -> None:
    refused = problem(
        tmp_path, HEAD + "run: {solutions: {kv: {store: rocksdb, url: redis://here}}}\n"
    )

    assert ("SPEC_UNKNOWN_KEY", '"kv" of "solutions" of "run" has no key "url"') == (
        refused.code,
        refused.message,
    )


def test_a_store_that_the_run_names_may_get_its_options_from_a_product(tmp_path: Path) -> None:
    text = HEAD.replace("{rdbms-store: {schema: cards}}", "{kv: {prefix: cards}}")
    run = "run: {solutions: {kv: {store: redis, url: 'redis://here'}}}\n"

    plan = build_plan(load(tmp_path, text + run))

    assert {"store": "redis", "url": "redis://here", "prefix": "cards"} == dict(
        plan.products[1].solution_options
    )


def test_a_store_that_is_not_installed_is_told_once(tmp_path: Path) -> None:
    refused = problem(tmp_path, HEAD + "run: {solutions: {kv: {store: rocksbd, path: x}}}\n")

    assert ("SPEC_VALUE", 'Use "rocksdb".') == (refused.code, refused.hint)


def test_each_store_backed_solution_says_how_it_is_opened() -> None:
    assert ("rdbms-trigger", "rdbms-store", "kv", "dynamodb") == store_solutions()


@dataclass
class Remote:
    """What such a package makes."""

    url: str
    products: object
    place: object

    def apply(self, changes: object, batch: object) -> None: ...

    def forget(self, before_us: int) -> None: ...

    def close(self) -> None: ...


@options
class RemoteOptions:
    """The options of a solution that a package might add."""

    url: str = text("Its address.", secret=True)

    def make(self, products: object, place: object) -> Remote:
        return Remote(self.url, products, place)


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that adds the solution `remote`, as its entry point would name it."""
    found = Registry.find
    monkeypatch.setattr(
        Registry,
        "find",
        lambda kinds, name: RemoteOptions if name == "remote" else found(kinds, name),
    )
    monkeypatch.setattr(Registry, "_added", lambda kinds: {"remote": []})


@pytest.mark.usefixtures("remote")
def test_the_options_of_a_packages_solution_are_checked_where_they_stand(tmp_path: Path) -> None:
    refused = problem(tmp_path, HEAD + "run: {solutions: {remote: {}}}\n")

    assert "SPEC_MISSING_KEY" == refused.code
    assert 'needs "url"' in refused.message
    assert "url" in str(schema()["$defs"]["solutions"]["properties"]["remote"])


@pytest.mark.usefixtures("remote")
def test_a_packages_solution_is_opened_by_its_options(tmp_path: Path) -> None:
    place = SolutionPlace(tmp_path, "q")

    opened: object = open_solution("remote", [], {"url": "here"}, place)

    assert Remote("here", [], place) == opened


def test_a_database_is_an_address(tmp_path: Path) -> None:
    refused = problem(tmp_path, HEAD + "run: {solutions: {rdbms-store: {database: rows.db}}}\n")

    assert "SPEC_SHAPE" == refused.code


def test_members_of_a_group_share_their_options(tmp_path: Path) -> None:
    text = HEAD.replace("{root: user}", "{root: user, group: g, solution: rdbms-store}")
    text = text.replace("{root: user, solution", "{root: user, group: g, solution")

    with pytest.raises(ProjectErrors) as refused:
        build_plan(load(tmp_path, text))

    assert ["PLAN_GROUP"] == [each.code for each in refused.value.problems]


def test_indexes_may_be_said_to_have_no_lag(tmp_path: Path) -> None:
    run = "run: {{solutions: {{dynamodb: {{index_lag: {}}}}}}}\n"

    assert load(tmp_path, HEAD + run.format(0)).run.solutions
    with pytest.raises(ProjectErrors, match="a whole number from 0"):
        load(tmp_path, HEAD + run.format(-1))
