"""A Kafka broker that is its own controller (KRaft), with one replica of everything."""

from __future__ import annotations

import base64
import signal
import socket
import struct
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from joinery.artifact import Artifact, fetch, java, version
from joinery.dev.java import LOGGING, SMALL
from joinery.dev.port import HOST, PORTS
from joinery.dev.process import Launch
from joinery.dev.service import Service, ServiceError

_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{client},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{client}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
num.partitions=1
group.initial.rebalance.delay.ms=0
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
"""
# A metadata request of version 1 for no topic: its answer lists the brokers that serve.
_METADATA = struct.pack(">hhih i", 3, 1, 1, -1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRecipe:
    """How a broker is started.

    Attributes:
        properties: Broker settings on top of the recipe's own.
        heap: The Java heap, such as `384m`.
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    heap: str = "384m"
    name: ClassVar = "kafka"
    ports: ClassVar = {"client": PORTS, "controller": PORTS}
    stops_by: ClassVar = signal.SIGTERM
    start_s: ClassVar = 90.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Write the settings, and format the data folder at the first start."""
        settings = folder / "server.properties"
        text = _SETTINGS.format(host=HOST, data=folder / "data", **ports)
        more = "".join(f"{key}={value}\n" for key, value in self.properties.items())
        settings.write_text(text + more, encoding="utf-8")
        if not (folder / "data" / "meta.properties").exists():
            _format(folder, settings)
        command = (*_java(self.heap), "kafka.Kafka", str(settings))
        return Launch(command=command, folder=folder)

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether the broker lists itself among those that serve."""
        try:
            with socket.create_connection((HOST, ports["client"]), timeout=2) as link:
                link.sendall(struct.pack(">i", len(_METADATA)) + _METADATA)
                answer = link.recv(12, socket.MSG_WAITALL)
        except OSError:
            return False
        return len(answer) == 12 and struct.unpack(">iii", answer)[2] > 0

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return the bootstrap servers."""
        return {"KAFKA": f"{HOST}:{ports['client']}"}


def kafka(folder: Path, *, properties: Mapping[str, str] | None = None) -> Service:
    """Return the broker whose data is in `folder`."""
    return Service(KafkaRecipe(properties=properties or {}), folder)


def _java(heap: str) -> tuple[str, ...]:
    jars = fetch(
        "kafka",
        Artifact("org.apache.kafka", "kafka_2.13", version("kafka"), transitive=True),
        Artifact("org.slf4j", "slf4j-simple", version("slf4j")),
    )
    return (java(), f"-Xmx{heap}", *SMALL, *LOGGING, "-cp", str(jars[0].parent / "*"))


def _format(folder: Path, settings: Path) -> None:
    # An id that begins with "-" would be taken for an option: 128 bits, the first of them 0.
    number = uuid.uuid4().int >> 1
    cluster = base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")
    command = (*_java("128m"), "kafka.tools.StorageTool", "format", "-t", cluster)
    done = subprocess.run(
        [*command, "-c", str(settings)], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ServiceError(
            "could not format the folder of kafka", detail=(done.stdout + done.stderr)[-2000:]
        )
