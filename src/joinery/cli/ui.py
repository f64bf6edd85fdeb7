"""`joinery ui`: serves the page that shows all products of some projects."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from joinery.cli.ending import DONE
from joinery.errors import RunError, SpecError, needs_extra
from joinery.ui.access import Door
from joinery.ui.fleet import Fleet
from joinery.ui.site import UiMissingError, site

_PORTS = 65_536
_OWN = ("127.0.0.1", "localhost", "[::1]")


class UiAddressError(RunError):
    """The page cannot be served at an address."""

    code = "UI_ADDRESS"


class UiActionsError(SpecError):
    """Actions would be open to other machines without anybody having said so."""

    code = "UI_ACTIONS"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionAccess:
    """How people may act on the page.

    Attributes:
        token: What they have to know; made where it is empty.
        remote: Whether they may do so from other machines.
    """

    token: str = ""
    remote: bool = False


def run_ui(
    files: Sequence[Path], listen: str, acting: ActionAccess | None = None, *, asking: bool = False
) -> int:
    """Serve the page until Ctrl-C.

    Args:
        files: Project files, or folders of such.
        listen: The address.
        acting: How people act on it; without it the page only reads.
        asking: Whether people may ask why documents look the way they do.
    """
    host, _, port = listen.rpartition(":")
    door = None if acting is None else _door(acting, host)
    fleet = Fleet.load(files)
    app = site(fleet, host, door, _why if asking else None)
    with needs_extra("ui", "joinery ui needs starlette, uvicorn and jinja2", UiMissingError):
        import uvicorn
    taken = _bound(host, port, listen)
    shown = f"{host}:{taken.getsockname()[1]}"
    sys.stdout.write(f"http://{shown}/   Ctrl-C ends it\n")
    if acting is not None and door is not None and not acting.token:
        sys.stdout.write(f"token for actions, shown once: {door.token}\n")
    sys.stdout.flush()
    if host not in _OWN:
        sys.stderr.write("warning: whoever reaches this address reads all pages\n")
    config = uvicorn.Config(app, log_level="warning", server_header=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[taken])
    return DONE


def _why(file: Path, product: str, key: str) -> list[str]:
    """Return what `joinery why` says."""
    from joinery.app.why import why
    from joinery.cli.why import PARTS, small_print

    found = why(file, product, key)
    return [*found.text_lines(PARTS), "", *small_print(found)]


def _door(acting: ActionAccess, host: str) -> Door:
    """Return the door of a page that people act on."""
    if host not in _OWN and not acting.remote:
        raise UiActionsError(
            f'actions would be open to other machines at "{host}"',
            detail="The token would cross the network as plain text.",
            hint="Listen on 127.0.0.1, behind a proxy with TLS, or add --allow-remote.",
        )
    return Door(acting.token)


def _bound(host: str, port: str, listen: str) -> socket.socket:
    """Return a socket that listens at an address; port 0 takes a free one."""
    if not (host and port.isdecimal() and int(port) < _PORTS):
        raise UiAddressError(
            f'"{listen}" is not an address',
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
