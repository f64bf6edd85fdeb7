"""`joinery ui`: serves the page that shows all products of some projects."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from joinery.cli.project import DONE
from joinery.errors import RunError, needs_extra
from joinery.ui.fleet import Fleet
from joinery.ui.site import UiMissingError, site

_PORTS = 65_536


class UiAddressError(RunError):
    """The page cannot be served at an address."""

    code = "UI_ADDRESS"


def run_ui(files: Sequence[Path], listen: str) -> int:
    """Serve the page until Ctrl-C."""
    fleet = Fleet.load(files)
    host, _, port = listen.rpartition(":")
    app = site(fleet, host)
    with needs_extra("ui", "joinery ui needs starlette, uvicorn and jinja2", UiMissingError):
        import uvicorn
    taken = _bound(host, port, listen)
    shown = f"{host}:{taken.getsockname()[1]}"
    sys.stdout.write(f"http://{shown}/   Ctrl-C ends it\n")
    sys.stdout.flush()
    if host not in ("127.0.0.1", "localhost", "[::1]"):
        sys.stderr.write("warning: whoever reaches this address reads all pages\n")
    config = uvicorn.Config(app, log_level="warning", server_header=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[taken])
    return DONE


def _bound(host: str, port: str, listen: str) -> socket.socket:
    """Return a socket that listens at an address; port 0 takes a free one."""
    if not (host and port.isdecimal() and int(port) < _PORTS):
        raise UiAddressError(
            f'"{listen}" is no address',
            hint=f"Write HOST:PORT, the port below {_PORTS}, such as 127.0.0.1:9465.",
        )
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    taken = socket.socket(family)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host.strip("[]"), int(port)))
        taken.listen()
    except OSError as error:
        taken.close()
        raise UiAddressError(
            f'cannot serve the page at "{listen}"',
            detail=f"{error.strerror or error}.",
            hint="Name a free address with --listen, such as 127.0.0.1:0.",
        ) from error
    return taken
