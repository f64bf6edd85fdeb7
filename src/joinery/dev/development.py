"""The stack of one project: its services in one folder, started and stopped together.

The folder holds one folder per service, and `env`, which tells the addresses of all that were
started as `NAME=value`, for `${NAME}` in project files.

Invariant: one command at a time works on a folder.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from joinery.dev.connect import ConnectRecipe
from joinery.dev.dynamodb import DynamoRecipe
from joinery.dev.kafka import KafkaRecipe
from joinery.dev.mariadb import MariadbRecipe
from joinery.dev.opensearch import OpenSearchRecipe
from joinery.dev.postgres import PostgresRecipe
from joinery.dev.redis import RedisRecipe
from joinery.dev.registry import RegistryRecipe
from joinery.dev.service import Recipe, Service, State
from joinery.errors import SpecError
from joinery.files import write_whole

NEEDS: dict[str, tuple[str, ...]] = {
    "postgres": (),
    "kafka": (),
    "connect": ("kafka",),
    "registry": (),
    "opensearch": (),
    "redis": (),
    "dynamodb": (),
    "mariadb": (),
}
"""All services, in the order they start, each with those it cannot do without."""

_RECIPES: dict[str, Recipe] = {
    "postgres": PostgresRecipe(),
    "kafka": KafkaRecipe(),
    "registry": RegistryRecipe(),
    "opensearch": OpenSearchRecipe(),
    "redis": RedisRecipe(),
    "dynamodb": DynamoRecipe(),
    "mariadb": MariadbRecipe(),
}

ALWAYS = ("postgres", "kafka", "connect")
"""What `up` starts in a new folder when nothing is named."""


class UnknownServiceError(SpecError):
    """The local stack has no service of this name."""

    code = "STACK_UNKNOWN_SERVICE"


class DevelopmentStack:
    """The services of one folder.

    Args:
        folder: Where all is kept.
        tied: Whether what is started here is killed when the starting thread ends.
    """

    def __init__(self, folder: Path, *, tied: bool = False) -> None:
        self.folder = folder.absolute()
        self._tied = tied

    @property
    def env(self) -> Path:
        """The file of addresses."""
        return self.folder / "env"

    def service(self, name: str) -> Service:
        """Return one service, started or not."""
        return Service(self._recipe(name), self.folder / name, tied=self._tied)

    def _recipe(self, name: str) -> Recipe:
        if name == "connect":
            broker = self.service("kafka")
            return ConnectRecipe(kafka=broker.address if broker.ports else "")
        return _RECIPES[name]

    def known(self) -> list[Service]:
        """Return the services that were ever started here, in the order they start."""
        every = [self.service(name) for name in NEEDS]
        return [each for each in every if each.ports]

    def up(self, names: Iterable[str], tell: Callable[[Service], None]) -> list[Service]:
        """Start services with what they need; those that run already are left alone.

        Args:
            names: Which; if none, those that were ever started here, else `ALWAYS`.
            tell: Called before each start.

        Raises:
            UnknownServiceError: A name is not one of a service.
            ServiceError: One did not start; those before it run.
        """
        chosen = tuple(names) or tuple(each.name for each in self.known()) or ALWAYS
        with self._alone():
            started = [self._up(name, tell) for name in start_order(chosen)]
            self._write_env()
        return started

    def down(
        self, names: Iterable[str], tell: Callable[[Service], None], *, wipe: bool = False
    ) -> list[Service]:
        """Stop services (all, if none is named), and with `wipe` delete what they kept."""
        chosen = set(_checked(names)) or set(NEEDS)
        with self._alone():
            stopped = [each for each in reversed(self.known()) if each.name in chosen]
            for service in stopped:
                tell(service)
                service.stop()
                if wipe:
                    shutil.rmtree(service.folder)
            self._write_env()
        return stopped

    def _up(self, name: str, tell: Callable[[Service], None]) -> Service:
        service = self.service(name)
        before = service.ports
        if service.state is not State.READY:
            tell(service)
            if service.state is State.SUSPENDED:
                service.resume()
            service.start()
        if before and before != service.ports:
            self._stop_those_who_need(name)
        return service

    def _stop_those_who_need(self, name: str) -> None:
        """Stop who was started with the address that `name` had before; `up` comes to them."""
        for other, needs in NEEDS.items():
            if name in needs:
                self.service(other).stop()

    def _write_env(self) -> None:
        lines = [f"{key}={value}\n" for each in self.known() for key, value in _addresses(each)]
        write_whole(self.env, "".join(lines), synced=False)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _addresses(service: Service) -> Iterable[tuple[str, str]]:
    return service.addresses.items()


def _checked(names: Iterable[str]) -> list[str]:
    chosen = list(names)
    for name in chosen:
        if name not in NEEDS:
            raise UnknownServiceError(
                f'the local stack has no service "{name}"',
                detail=f"Its services are {', '.join(NEEDS)}.",
            )
    return chosen


def start_order(names: Iterable[str]) -> list[str]:
    """Return the services with what they need, in the order they start."""
    wanted = set(_checked(names))
    wanted |= {needed for name in wanted for needed in NEEDS[name]}
    return [name for name in NEEDS if name in wanted]
