"""HDFS in one process: Hadoop's own name node and data node, as its mini cluster starts them.

Data are kept over a restart, unless the folder is new.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from joinery.artifact import Artifact, fetch, java, version
from joinery.dev.http import answers
from joinery.dev.java import SMALL
from joinery.dev.port import HOST, PORTS
from joinery.dev.process import Launch
from joinery.dev.service import Service
from joinery.spark.jar import spark_home

_MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
_GROUP, _CLUSTER = "org.apache.hadoop", "hadoop-client-minicluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class HdfsRecipe:
    """How HDFS is started: without YARN, the clients' port and the page's chosen here."""

    name: ClassVar = "hdfs"
    ports: ClassVar = {"client": PORTS, "web": PORTS}
    stops_by: ClassVar = signal.SIGTERM
    start_s: ClassVar = 90.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Fetch the cluster at the first start, whose jar is beside Spark's Hadoop client."""
        (cluster,) = fetch("hdfs", Artifact(_GROUP, _CLUSTER, version("hadoop-aws")))
        data = folder / "data"
        at = ("-nnport", str(ports["client"]), "-nnhttpport", str(ports["web"]))
        options = ("-nomr", *at, f"-Dhdfs.minidfs.basedir={data}", *self._first(data))
        path = f"{cluster}:{spark_home() / 'jars'}/*"
        command = (java(), "-Xmx256m", *SMALL, "-cp", path, _MAIN, *options)
        return Launch(command=command, folder=folder)

    def _first(self, data: Path) -> tuple[str, ...]:
        return () if data.is_dir() else ("-format",)

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether the name node lets a data node be written to."""
        told = answers(f"http://{HOST}:{ports['web']}/jmx?qry=Hadoop:*,name=FSNamesystemState")
        beans = told.get("beans", []) if isinstance(told, dict) else []
        return any(
            each.get("FSState") == "Operational" and each.get("NumLiveDataNodes") for each in beans
        )

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return the file system's address."""
        return {"HDFS": f"hdfs://{HOST}:{ports['client']}"}


def hdfs(folder: Path) -> Service:
    """Return the HDFS whose data are in `folder`."""
    return Service(HdfsRecipe(), folder)


def hdfs_settings(service: Service) -> dict[str, str]:
    """Return what `run.spark` says of a server: where its web address is."""
    return {"spark.hadoop.dfs.namenode.http-address": f"{HOST}:{service.ports['web']}"}
