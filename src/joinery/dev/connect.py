"""Kafka Connect with Debezium's connector for PostgreSQL, one worker on its own.

A connector that `create` adds is kept as a file beside the worker, which starts all of them
again; how far each has read is kept in a file too, written every second.

Limits: a connector added by the worker's own REST interface is gone after a restart.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.error import HTTPError

from joinery.artifact import Artifact, fetch, fetch_unpacked, java, version
from joinery.dev.http import answers, ask
from joinery.dev.java import LOGGING, SMALL
from joinery.dev.port import HOST, PORTS
from joinery.dev.process import Launch
from joinery.dev.service import Service, ServiceError

_MAIN = "org.apache.kafka.connect.cli.ConnectStandalone"
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_SETTINGS = """\
bootstrap.servers={kafka}
listeners=http://{host}:{client}
key.converter={json}
value.converter={json}
key.converter.schemas.enable=false
value.converter.schemas.enable=false
offset.storage.file.filename={folder}/data/positions
offset.flush.interval.ms=1000
plugin.path={plugins}
plugin.discovery=service_load
"""
_POLL_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectRecipe:
    """How a worker is started.

    Attributes:
        kafka: The bootstrap servers it writes to.
        heap: The Java heap.
    """

    kafka: str
    heap: str = "256m"
    name: ClassVar = "connect"
    ports: ClassVar = {"client": PORTS}
    stops_by: ClassVar = signal.SIGTERM
    start_s: ClassVar = 90.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Write the worker's settings, and start it with the connectors it had."""
        (folder / "data").mkdir(exist_ok=True)
        settings = folder / "worker.properties"
        where = {"kafka": self.kafka, "host": HOST, "json": _JSON, "folder": folder}
        text = _SETTINGS.format(plugins=_plugins(), **where, **ports)
        settings.write_text(text, encoding="utf-8")
        connectors = sorted(map(str, _connectors(folder).glob("*.json")))
        jvm = (java(), f"-Xmx{self.heap}", *SMALL, *LOGGING, "-cp", _jars())
        return Launch(command=(*jvm, _MAIN, str(settings), *connectors), folder=folder)

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether the worker lists its connectors."""
        return isinstance(answers(f"http://{HOST}:{ports['client']}/connectors"), list)

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return the URL of the worker's REST interface."""
        return {"CONNECT": f"http://{HOST}:{ports['client']}"}


def connect(folder: Path, *, kafka: str) -> Service:
    """Return the Connect worker whose connectors and positions are in `folder`."""
    return Service(ConnectRecipe(kafka=kafka), folder)


def create(worker: Service, name: str, config: Mapping[str, str], *, within_s: float = 60) -> None:
    """Add a connector, or change it, and wait until its task runs.

    Raises:
        ServiceError: The worker refuses the settings, or the connector failed.
    """
    kept = _connectors(worker.folder) / f"{name}.json"
    try:
        ask(f"{worker.address}/connectors/{name}/config", method="PUT", body=dict(config))
    except HTTPError as error:
        said = error.read().decode(errors="replace")
        raise ServiceError(f'connector "{name}" was refused', detail=said[:2000]) from error
    kept.write_text(json.dumps({"name": name, "config": dict(config)}), encoding="utf-8")
    until = time.monotonic() + within_s
    while (state := state_of(worker, name)) != "RUNNING":
        if state == "FAILED" or time.monotonic() > until:
            raise ServiceError(
                f'connector "{name}" is not running: {state.lower()}',
                detail=str(answers(f"{worker.address}/connectors/{name}/status"))[:2000],
                hint=f"The worker's log is {worker.log}.",
            )
        time.sleep(_POLL_S)


def state_of(worker: Service, name: str) -> str:
    """Return `RUNNING` once the connector's task runs, `FAILED`, or what it is now."""
    told = answers(f"{worker.address}/connectors/{name}/status")
    tasks = told.get("tasks", []) if isinstance(told, dict) else []
    states = {str(each["state"]) for each in tasks}
    return "FAILED" if "FAILED" in states else next(iter(states), "ABSENT")


def config_of(worker: Service, name: str) -> dict[str, str]:
    """Return the settings of a connector; none where there is no such connector."""
    told = answers(f"{worker.address}/connectors/{name}/config")
    if isinstance(told, dict):
        return {str(key): str(value) for key, value in told.items()}
    kept = _connectors(worker.folder) / f"{name}.json"
    return dict(json.loads(kept.read_text(encoding="utf-8"))["config"]) if kept.is_file() else {}


def delete(worker: Service, name: str) -> None:
    """Remove a connector and wait until it has let go; one that is not there is no error."""
    (_connectors(worker.folder) / f"{name}.json").unlink(missing_ok=True)
    try:
        ask(f"{worker.address}/connectors/{name}", method="DELETE")
    except HTTPError as error:
        if error.code != 404:
            raise


def _connectors(folder: Path) -> Path:
    path = folder / "connectors"
    path.mkdir(exist_ok=True)
    return path


def _plugins() -> Path:
    group, name = "io.debezium", "debezium-connector-postgres"
    plugin = Artifact(group, name, version("debezium"), "plugin", "tar.gz")
    return fetch_unpacked("debezium", plugin)


def _jars() -> str:
    group, released = "org.apache.kafka", version("kafka")
    jars = fetch(
        "connect",
        Artifact(group, "connect-runtime", released, transitive=True),
        Artifact(group, "connect-json", released, transitive=True),
        Artifact("org.slf4j", "slf4j-simple", version("slf4j")),
    )
    return str(jars[0].parent / "*")
