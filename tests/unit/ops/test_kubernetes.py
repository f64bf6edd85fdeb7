"""The manifests and the image fit the published schemas, this Spark, and what a project takes."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from joinery.project.load import load_spec

ROOT = Path(__file__).resolve().parents[3]
OPS = ROOT / "ops/kubernetes"
SCHEMAS = Path(__file__).parent / "schemas"
FITTING = (
    ("kubeflow.yaml", "SparkApplication", "kubeflow-v1beta2.json"),
    ("spark.yaml", "SparkApplication", "spark-v1.json"),
    ("common.yaml", "ConfigMap", "configmap-v1.json"),
    ("common.yaml", "PersistentVolumeClaim", "persistentvolumeclaim-v1.json"),
    ("common.yaml", "Service", "service-v1.json"),
)
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def manifest(file: str, kind: str) -> Any:
    every = YAML(typ="safe").load_all((OPS / file).read_text(encoding="utf-8"))
    return next(each for each in every if each["kind"] == kind)


def problems(schema: Mapping[str, Any], value: Any, at: str = "") -> Iterator[str]:
    """Yield where a value does not fit a schema that `prune` made."""
    if "anyOf" in schema and any(not [*problems(each, value)] for each in schema["anyOf"]):
        return
    wanted = schema.get("type", [])
    kinds = tuple(TYPES[each] for each in ([wanted] if isinstance(wanted, str) else wanted))
    if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        yield f"{at} is no {wanted}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is none of {schema['enum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{at} is not as {schema['pattern']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{at} is below {schema['minimum']}"
    if isinstance(value, dict):
        known, extra = schema.get("properties", {}), schema.get("additionalProperties", {})
        yield from (
            f"{at} lacks {name}" for name in schema.get("required", ()) if name not in value
        )
        for name, each in value.items():
            if name not in known and extra is False:
                yield f"{at}/{name} is not known"
            else:
                yield from problems(known.get(name, extra), each, f"{at}/{name}")
    if isinstance(value, list):
        for place, each in enumerate(value):
            yield from problems(schema.get("items", {}), each, f"{at}/{place}")


@pytest.mark.parametrize(("file", "kind", "schema"), FITTING)
def test_a_manifest_fits_its_schema(file: str, kind: str, schema: str) -> None:
    told = json.loads((SCHEMAS / schema).read_text(encoding="utf-8"))

    assert [] == [*problems(told, manifest(file, kind))]


@pytest.mark.parametrize(
    ("file", "path", "value", "problem"),
    [
        ("kubeflow.yaml", ("spec", "driver", "core"), 2, "/spec/driver/core is not known"),
        ("kubeflow.yaml", ("spec", "mode"), "clustered", "/spec/mode is none of"),
        ("kubeflow.yaml", ("spec", "executor", "instances"), "4", "/spec/executor/instances is no"),
        ("spark.yaml", ("spec", "runtimeVersions"), {}, "/spec/runtimeVersions lacks"),
        ("spark.yaml", ("spec", "executors"), 4, "/spec/executors is not known"),
    ],
)
def test_a_mistake_in_a_manifest_is_seen(
    file: str, path: tuple[str, ...], value: object, problem: str
) -> None:
    schema = next(name for known, _, name in FITTING if known == file)
    wrong = copy.deepcopy(manifest(file, "SparkApplication"))
    place = wrong
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value

    found = [*problems(json.loads((SCHEMAS / schema).read_text(encoding="utf-8")), wrong)]

    assert any(each.startswith(problem) for each in found), found


def test_the_project_of_the_manifests_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = manifest("common.yaml", "ConfigMap")["data"]["joinery.yaml"]
    (tmp_path / "joinery.yaml").write_text(project, encoding="utf-8")
    monkeypatch.setenv("SEARCH_URL", "https://search")

    spec = load_spec(tmp_path / "joinery.yaml")

    claimed = manifest("kubeflow.yaml", "SparkApplication")["spec"]["driver"]["volumeMounts"]
    assert spec.run.checkpoint.startswith(f"{claimed[0]['mountPath']}/")
    port = manifest("common.yaml", "Service")["spec"]["ports"][0]["port"]
    assert f"0.0.0.0:{port}" == spec.run.http


def test_all_name_the_spark_that_joinery_needs() -> None:
    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    version = re.search(r"^pyspark==(.+)$", locked, re.MULTILINE)
    assert version is not None

    image = (OPS / "Dockerfile").read_text(encoding="utf-8")

    assert f"ARG SPARK={version[1]}\n" in image
    assert version[1] == manifest("kubeflow.yaml", "SparkApplication")["spec"]["sparkVersion"]
    spark = manifest("spark.yaml", "SparkApplication")["spec"]
    assert version[1] == spark["runtimeVersions"]["sparkVersion"]
    for copied in re.findall(r"^COPY (?!--from|dist/)(\S+)", image, re.MULTILINE):
        assert (ROOT / copied).is_file()
    compile((OPS / "job.py").read_text(encoding="utf-8"), "job.py", "exec")
