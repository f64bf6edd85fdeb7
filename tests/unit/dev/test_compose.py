"""compose.yaml offers the services of `joinery dev`, in the same versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from joinery.artifact import VERSIONS
from joinery.dev.development import ALWAYS, NEEDS

COMPOSE: dict[str, Any] = YAML(typ="safe").load(Path(__file__).parents[3] / "compose.yaml")
SERVICES = COMPOSE["services"]


def tag(service: str) -> str:
    return str(SERVICES[service]["image"].rpartition(":")[2])


def test_both_know_the_same_services() -> None:
    assert list(SERVICES) == list(NEEDS)


def test_both_start_the_same_ones_when_none_is_named() -> None:
    assert [name for name in SERVICES if "profiles" not in SERVICES[name]] == list(ALWAYS)


def test_both_take_the_same_versions() -> None:
    assert {
        "kafka": VERSIONS["kafka"],
        "connect": VERSIONS["debezium"],
        "registry": VERSIONS["apicurio"],
        "opensearch": VERSIONS["opensearch"].rpartition(".")[0],
        "dynamodb": VERSIONS["dynamodb"],
        "mariadb": VERSIONS["mariadb"],
    } == {
        name: tag(name)
        for name in ("kafka", "connect", "registry", "opensearch", "dynamodb", "mariadb")
    }


def test_no_port_is_open_to_other_machines() -> None:
    ports = [port for service in SERVICES.values() for port in service["ports"]]

    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []
