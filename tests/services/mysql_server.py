"""Servers of MySQL and MariaDB with a binary log of rows."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import ClassVar

import pytest
from tests.services.mysql_programs import LacksError, MysqlPrograms, mysql_80, mysql_84

from joinery.dev.mariadb import MariadbRecipe
from joinery.dev.port import HOST, PORTS
from joinery.dev.process import Launch
from joinery.dev.service import Service, ServiceError

# As most services run it; 9.7 does so by itself.
_GTIDS = {"gtid-mode": "ON", "enforce-gtid-consistency": "ON"}
SERVERS = ("mariadb", pytest.param("mysql-8.4", marks=pytest.mark.exhaustive))
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
    "secure-file-priv": "",  # else a folder of the system's must be there
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlRecipe:
    """How the server is started; `settings` go on top of the recipe's own."""

    programs: MysqlPrograms
    settings: Mapping[str, str] = field(default_factory=dict)
    name: ClassVar = "mysql"
    ports: ClassVar = {"client": PORTS}
    stops_by: ClassVar = signal.SIGTERM
    start_s: ClassVar = 60.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Create the data folder at the first start."""
        data, account = folder / "data", folder / "account.sql"
        account.write_text(_ACCOUNT)
        root = ("--user=root",) if os.geteuid() == 0 else ()
        places = (f"--basedir={self.programs.home}", f"--datadir={data}")
        start = (*self.programs.command, "--no-defaults", *root, *places)
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


@contextmanager
def started_server(
    name: str, folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[Service]:
    """Run one of `mariadb`, `mysql-8.4`, `mysql-8.0`; skips the test where it cannot be had."""
    try:
        recipe = _recipe(name, settings or {})
    except LacksError as lacks:
        pytest.skip(str(lacks))
    with Service(recipe, folder).started() as service:
        yield service


def _recipe(name: str, settings: Mapping[str, str]) -> MariadbRecipe | MysqlRecipe:
    match name:
        case "mariadb":
            return MariadbRecipe(settings=settings)
        case "mysql-8.4":
            return MysqlRecipe(programs=mysql_84(), settings={**_GTIDS, **settings})
        case "mysql-8.0":
            return MysqlRecipe(programs=mysql_80(), settings=settings)
        case _:
            raise ValueError(name)
