"""The demo on real servers: its project is the demo's, with other edges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from joinery.cli.demo import project_text
from joinery.cli.real import real_project_text
from joinery.project.load import load_spec

EXAMPLES = Path(__file__).parents[3] / "examples" / "github"


def test_the_demo_runs_the_project_of_the_example() -> None:
    assert (EXAMPLES / "real.yaml").read_text(encoding="utf-8") == real_project_text()
    assert (EXAMPLES / "kafka.yaml").read_text(encoding="utf-8") == real_project_text(kafka=True)


@pytest.mark.parametrize("kafka", [False, True])
def test_the_product_is_that_of_the_embedded_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kafka: bool
) -> None:
    for name in ("KAFKA", "OPENSEARCH", "POSTGRES"):
        monkeypatch.setenv(name, "127.0.0.1:1")
    (tmp_path / "embedded.yaml").write_text(project_text(), encoding="utf-8")
    (tmp_path / "real.yaml").write_text(real_project_text(kafka=kafka), encoding="utf-8")
    embedded, real = (load_spec(tmp_path / f"{name}.yaml") for name in ("embedded", "real"))

    (theirs,), (ours,) = embedded.products, real.products

    assert replace(ours, sinks=theirs.sinks) == theirs
    assert [(each.name, each.key, each.fields) for each in real.relations] == [
        (each.name, each.key, each.fields) for each in embedded.relations
    ]
