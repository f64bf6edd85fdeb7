"""Free ports of this machine's own address, below those the system hands to clients.

A port that was chosen is reserved until its server listens, so that two that start at once
do not choose the same. Only Linux lets a server listen where another socket is bound.
"""

from __future__ import annotations

import random
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from joinery.errors import RunError

HOST = "127.0.0.1"
PORTS = range(20000, 30000)
_random = random.SystemRandom()


def free_port(among: range = PORTS, taken: Iterable[int] = ()) -> int:
    """Return a port on which nobody listens, other than those `taken`.

    Raises:
        RunError: All of them are taken.
    """
    left = [each for each in among if each not in set(taken)]
    _random.shuffle(left)
    for port in left:
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))  # not where another is bound, reserved ones included
            return port
    raise RunError(f"no port from {among.start} to {among.stop - 1} is free")


@contextmanager
def reserved(ports: Iterable[int]) -> Iterator[None]:
    """Keep others from choosing some ports for the length of a block."""
    with ExitStack() as stack:
        for port in ports if sys.platform == "linux" else ():
            holder = stack.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):  # taken meanwhile: its server will say so
                holder.bind((HOST, port))
        yield


def is_free(port: int) -> bool:
    """Tell whether a server could listen on `port` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
