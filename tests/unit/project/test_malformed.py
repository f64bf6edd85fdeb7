"""What a project file may hold at random: it is read, or each problem is told at its place."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.unit.project.examples import EXAMPLES, REST, merged

from joinery.errors import JoineryError, ProjectErrors
from joinery.project import grammar
from joinery.project.emit import Emit
from joinery.project.load import dump_spec, load_spec
from joinery.project.part import keys_of
from joinery.project.relation import RelationSpec

SECTIONS = ("relations", "products", "streams", "windows", "run")
KEYS = [
    *grammar.PRODUCT,
    *keys_of(RelationSpec),
    *grammar.STEP,
    *keys_of(Emit),
    "one",
    "many",
    "on",
]
VALUES: list[Any] = [
    *(None, True, 7, -1, 1.5, "x", "", "10s", "a.b = c.d", "wait:soon", "1 month", "event"),
    *([], {}, ["a"], ["a", "a"], [["a"]], ["2h", "1h"]),
    *({"a": "b"}, {"a": 1}, {"one": "order"}, {"tumbling": "1h"}),
]


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for name, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths_of(below, (*path, name))


def changed(project: dict[str, Any], pick: random.Random) -> dict[str, Any]:
    """Return a project with one part replaced, left out or added."""
    made = copy.deepcopy(project)
    *above, last = pick.choice([path for path in paths_of(made) if path and path[0] in SECTIONS])
    part = made
    for each in above:
        part = part[each]
    value = copy.deepcopy(pick.choice(VALUES))
    if pick.random() < 0.2:
        del part[last]
    elif isinstance(part[last], dict) and pick.random() < 0.5:
        part[last][pick.choice(KEYS)] = value
    else:
        part[last] = value
    return made


def problems(file: Path) -> tuple[JoineryError, ...]:
    """Return what is wrong with a project; what can be read is read alike once written back."""
    try:
        spec = load_spec(file)
    except ProjectErrors as told:
        return told.problems
    file.write_text(dump_spec(spec), encoding="utf-8")
    assert load_spec(file) == spec
    return ()


@pytest.mark.parametrize("seed", range(4))
def test_a_project_is_read_and_written_back_or_its_problems_have_places(
    seed: int, tmp_path: Path
) -> None:
    pick, yaml, file = random.Random(seed), YAML(typ="safe"), tmp_path / "joinery.yaml"
    projects = [merged(yaml.load(REST), yaml.load(each)) for each in pick.sample(EXAMPLES, 12)]
    found: list[int] = []
    for project in projects * 3:
        with file.open("w", encoding="utf-8") as out:
            yaml.dump(changed(project, pick), out)
        told = problems(file)
        found.append(len(told))
        assert [] == [str(each) for each in told if each.location is None]

    assert 0 in found
    assert any(found)
