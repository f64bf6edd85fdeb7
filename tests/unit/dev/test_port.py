"""Free ports."""

from __future__ import annotations

import socket
import sys

import pytest

from joinery.dev.port import HOST, PORTS, free_port, is_free, reserved
from joinery.errors import RunError


def test_a_free_port_lies_in_the_range_and_takes_a_listener() -> None:
    port = free_port()

    assert port in PORTS
    with socket.create_server((HOST, port)):
        assert not is_free(port)


def test_a_port_that_is_taken_is_not_chosen() -> None:
    port = free_port()

    with socket.create_server((HOST, port)), pytest.raises(RunError, match="no port"):
        free_port(range(port, port + 1))


def test_two_ports_of_one_service_differ() -> None:
    port = free_port()

    with pytest.raises(RunError, match="no port"):
        free_port(range(port, port + 1), taken=[port])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems reserve nothing")
def test_a_reserved_port_is_for_its_server_alone() -> None:
    port = free_port()

    with reserved([port]):
        with pytest.raises(RunError, match="no port"):
            free_port(range(port, port + 1))
        with socket.create_server((HOST, port)) as server:
            assert server.getsockname() == (HOST, port)
