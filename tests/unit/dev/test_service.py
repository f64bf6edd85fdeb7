"""A service, whatever its server: here a script that listens once it has read its data."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import psutil
import pytest

from joinery.dev.port import HOST, PORTS, is_free
from joinery.dev.process import Launch
from joinery.dev.service import Service, ServiceError, State

SERVER = """
import os, signal, socket, sys
print("serving", flush=True)
signal.signal(signal.SIGTERM, lambda *_: (open("ended well", "w").close(), os._exit(0)))
with socket.create_server((sys.argv[1], int(sys.argv[2]))) as server:
    while True:
        server.accept()[0].close()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRecipe:
    """A Python script as a server."""

    script: str = SERVER
    start_s: float = 20.0
    name: ClassVar = "script"
    ports: ClassVar = {"client": PORTS}
    stops_by: ClassVar = signal.SIGTERM

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> Launch:
        return Launch(
            command=(sys.executable, "-c", self.script, HOST, str(ports["client"])), folder=folder
        )

    def ready(self, ports: Mapping[str, int]) -> bool:
        return not is_free(ports["client"])

    def addresses(self, ports: Mapping[str, int]) -> Mapping[str, str]:
        return {"SCRIPT": f"{HOST}:{ports['client']}"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(ScriptRecipe(), tmp_path / "script").started() as started:
        yield started


def test_a_started_service_is_ready_at_its_address(service: Service) -> None:
    assert service.state is State.READY
    assert service.address == f"{HOST}:{service.ports['client']}"
    assert service.resident_bytes > 0


def test_a_service_is_found_again_by_its_folder(service: Service) -> None:
    found = Service(ScriptRecipe(), service.folder)

    assert (found.pid, found.address) == (service.pid, service.address)


def test_starting_what_runs_changes_nothing(service: Service) -> None:
    before = service.pid

    service.start()

    assert service.pid == before


def test_a_stopped_service_ended_in_good_order(service: Service) -> None:
    service.stop()

    assert service.state is State.STOPPED
    assert (service.folder / "ended well").exists()


def test_a_killed_service_did_not(service: Service) -> None:
    service.kill()

    assert service.state is State.STOPPED
    assert not (service.folder / "ended well").exists()


def test_a_server_that_others_killed_ended_by_itself(service: Service) -> None:
    assert service.pid is not None
    psutil.Process(service.pid).kill()

    wait_for(service, State.ENDED)

    assert service.pid is None


def test_a_restart_keeps_the_port(service: Service) -> None:
    before, process = service.address, service.pid

    service.restart()

    assert service.address == before
    assert service.pid != process


def test_a_suspended_service_goes_on_when_resumed(service: Service) -> None:
    service.suspend()
    wait_for(service, State.SUSPENDED)

    service.resume()

    service.wait_until_ready()


def test_a_suspended_service_can_be_stopped(service: Service) -> None:
    service.suspend()

    service.stop()

    assert service.state is State.STOPPED


def test_a_server_that_does_not_start_shows_the_end_of_its_log(tmp_path: Path) -> None:
    failing = Service(ScriptRecipe(script="raise SystemExit('no such data')"), tmp_path)

    with pytest.raises(ServiceError, match="script ended while it started") as caught:
        failing.start()

    assert "no such data" in caught.value.detail
    assert failing.state is State.STOPPED


def test_a_server_that_never_listens_is_given_up_and_ended(tmp_path: Path) -> None:
    silent = Service(ScriptRecipe(script="import time; time.sleep(600)", start_s=0.3), tmp_path)

    with pytest.raises(ServiceError, match="not ready within"):
        silent.start()

    assert silent.state is State.STOPPED


def test_a_process_that_was_given_the_id_of_a_server_is_never_signalled(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        started_at = psutil.Process(stranger.pid).create_time() - 3600
        process = {"pid": stranger.pid, "started_at": started_at}
        told = {"ports": {"client": 20000}, "process": process}
        (tmp_path / "service.json").write_text(json.dumps(told), encoding="utf-8")
        service = Service(ScriptRecipe(), tmp_path)

        found = service.state
        service.kill()

        assert found is State.ENDED
        assert stranger.poll() is None
        stranger.kill()


def test_a_service_does_not_outlive_the_process_that_keeps_it_started(tmp_path: Path) -> None:
    keeper = (
        "import os, sys; from pathlib import Path; from tests.unit.dev.test_service import *\n"
        f"with Service(ScriptRecipe(), Path({str(tmp_path)!r})).started(): os.kill(os.getpid(), 9)"
    )

    path = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", keeper], env={**os.environ, "PYTHONPATH": path})

    service = Service(ScriptRecipe(), tmp_path)
    assert service.ports
    wait_for(service, State.ENDED)


def test_the_address_of_what_was_never_started_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="never started"):
        _ = Service(ScriptRecipe(), tmp_path).address


def wait_for(service: Service, state: State) -> None:
    until = time.monotonic() + 60
    while service.state is not state:
        assert time.monotonic() < until, f"is {service.state}"
        time.sleep(0.01)
