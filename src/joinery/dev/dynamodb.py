"""DynamoDB Local, in memory: what it held is gone when it ends."""

from __future__ import annotations

import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from joinery.artifact import Artifact, fetch, java, version
from joinery.dev.java import SMALL
from joinery.dev.port import HOST, PORTS
from joinery.dev.process import Launch
from joinery.dev.service import Service

_MAIN = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoRecipe:
    """How DynamoDB Local is started."""

    name: ClassVar = "dynamodb"
    ports: ClassVar = {"client": PORTS}
    stops_by: ClassVar = signal.SIGTERM
    start_s: ClassVar = 60.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Fetch the server at the first start."""
        options = ("-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(ports["client"]))
        command = (java(), "-Xmx512m", *SMALL, "-cp", _jars(), _MAIN, *options)
        return Launch(command=command, folder=folder)

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether the server answers HTTP, even by refusing an unsigned request."""
        try:
            with socket.create_connection((HOST, ports["client"]), timeout=2) as link:
                link.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return link.recv(5) == b"HTTP/"
        except OSError:
            return False

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return the endpoint's URL."""
        return {"DYNAMODB": f"http://{HOST}:{ports['client']}"}


def dynamodb(folder: Path) -> Service:
    """Return the DynamoDB Local whose log is in `folder`."""
    return Service(DynamoRecipe(), folder)


def _jars() -> str:
    local = Artifact("com.amazonaws", "DynamoDBLocal", version("dynamodb"), transitive=True)
    return str(fetch("dynamodb", local)[0].parent / "*")
