"""What is said to Hadoop of HDFS: by a project, or by the files of `HADOOP_CONF_DIR`."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from joinery.errors import RunError

_WEB_PORT = 9870
_PREFIX = "spark.hadoop."
_CONFIGURED = ("core-site.xml", "hdfs-site.xml")


def name_nodes(authority: str, settings: Mapping[str, object]) -> tuple[str, ...]:
    """Return where the name nodes of a file system answer HTTP.

    Args:
        authority: Of its address: the name node, or the name of several.
        settings: Of Spark; Hadoop's own files tell what they do not, but for another name node.

    Raises:
        RunError: A file of `HADOOP_CONF_DIR` cannot be read.

    Example:
        >>> name_nodes("name:8020", {})
        ('name:9870',)
        >>> two = {"spark.hadoop.dfs.ha.namenodes.prod": "a,b"}
        >>> web = "spark.hadoop.dfs.namenode.http-address.prod"
        >>> name_nodes("prod", {**two, f"{web}.a": "x:1", f"{web}.b": "y:1"})
        ('x:1', 'y:1')
    """
    files = _configured()
    own = {
        name.removeprefix(_PREFIX): str(value)
        for name, value in settings.items()
        if name.startswith(_PREFIX)
    }
    said = {**files, **own}
    web = "dfs.namenode.http-address"
    several = said.get(f"dfs.ha.namenodes.{authority}", "")
    if nodes := [each.strip() for each in several.split(",") if each.strip()]:
        found = [
            said.get(f"{web}.{authority}.{node}")
            or _web(said.get(f"dfs.namenode.rpc-address.{authority}.{node}", node))
            for node in nodes
        ]
    else:
        found = [own.get(web) or _of_host(files.get(web, ""), authority)]
    return tuple(_address(each, authority) for each in found)


def _of_host(said: str, authority: str) -> str:
    """Return an address unless it is that of another file system's name node."""
    host = said.rpartition(":")[0]
    return said if host in ("", "0.0.0.0", authority.partition(":")[0]) else ""


def _web(address: str) -> str:
    return f"{address.partition(':')[0]}:{_WEB_PORT}"


def _address(said: str, authority: str) -> str:
    """Return where a name node answers: Hadoop may say the port alone, or that of all addresses."""
    host, _, port = said.rpartition(":")
    if host in ("", "0.0.0.0"):
        host = authority.partition(":")[0]
    return f"{host}:{port or _WEB_PORT}"


def _configured() -> dict[str, str]:
    """Return what the files of `HADOOP_CONF_DIR` say."""
    folder = os.environ.get("HADOOP_CONF_DIR")
    return dict(_said_in(folder)) if folder else {}


@cache
def _said_in(folder: str) -> Mapping[str, str]:
    files = (Path(folder, name) for name in _CONFIGURED)
    return {name: value for file in files if file.is_file() for name, value in _properties(file)}


def _properties(file: Path) -> Iterator[tuple[str, str]]:
    from xml.etree import ElementTree as ET

    try:
        found = ET.parse(file)
    except ET.ParseError as error:
        raise RunError(
            f"cannot read {file}",
            detail=f"It is not well-formed XML: {error}.",
            hint="Fix it, or let HADOOP_CONF_DIR name another folder.",
        ) from error
    for each in found.iter("property"):
        yield (each.findtext("name") or "").strip(), (each.findtext("value") or "").strip()


def hadoop_user() -> str:
    """Return whom Hadoop's own client would name."""
    if said := os.environ.get("HADOOP_USER_NAME"):
        return said
    with suppress(KeyError):  # a container knows no name of its user
        return pwd.getpwuid(os.geteuid()).pw_name
    return ""
