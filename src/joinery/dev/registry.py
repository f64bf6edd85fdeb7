"""A schema registry (Apicurio), which also speaks the protocol of Confluent's."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from joinery.artifact import Artifact, fetch_unpacked, java, version
from joinery.dev.http import answers
from joinery.dev.java import SMALL
from joinery.dev.port import HOST, PORTS
from joinery.dev.process import Launch
from joinery.dev.service import Service

_PATH = "/apis/ccompat/v7"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryRecipe:
    """How a registry is started; its schemas are kept in a database file."""

    name: ClassVar = "registry"
    ports: ClassVar = {"client": PORTS}
    stops_by: ClassVar = signal.SIGTERM
    start_s: ClassVar = 120.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Fetch the registry at the first start (about 110 MB)."""
        (folder / "data").mkdir(exist_ok=True)
        file = f"{folder / 'data' / 'registry'};WRITE_DELAY=0"  # a killed server lost nothing
        settings = {
            "quarkus.http.host": HOST,
            "quarkus.http.port": str(ports["client"]),
            "apicurio.datasource.url": f"jdbc:h2:file:{file}",
        }
        options = [f"-D{key}={value}" for key, value in settings.items()]
        command = (java(), "-Xmx256m", *SMALL, *options, "-jar", str(_program()))
        return Launch(command=command, folder=folder)

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether the registry lists its subjects."""
        return isinstance(answers(f"{self.addresses(ports)['REGISTRY']}/subjects"), list)

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return the URL of the Confluent-compatible interface."""
        return {"REGISTRY": f"http://{HOST}:{ports['client']}{_PATH}"}


def registry(folder: Path) -> Service:
    """Return the schema registry whose data is in `folder`."""
    return Service(RegistryRecipe(), folder)


def _program() -> Path:
    released = version("apicurio")
    group, name = "io.apicurio", "apicurio-registry-app"
    folder = fetch_unpacked("apicurio", Artifact(group, name, released, "all", "tar.gz"))
    return folder / f"{name}-{released}-runner.jar"
