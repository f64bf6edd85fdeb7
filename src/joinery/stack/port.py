"""Free ports of this machine's own address, below those the system hands to clients."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable

from joinery.errors import RunError

HOST = "127.0.0.1"
PORTS = range(20000, 30000)
_random = random.SystemRandom()


def free_port(among: range = PORTS, taken: Iterable[int] = ()) -> int:
    """Return a port on which nobody listens, other than those `taken`."""
    left = [each for each in among if each not in set(taken)]
    _random.shuffle(left)
    for port in left:
        if is_free(port):
            return port
    raise RunError(f"no port from {among.start} to {among.stop - 1} is free")


def is_free(port: int) -> bool:
    """Tell whether a server could listen on `port` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
