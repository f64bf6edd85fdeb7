"""Where the spools of a product's sinks stand: in its checkpoint, a folder a target.

Invariant: a spool belongs to one target, so documents are never written to another; one that
holds documents for a target that is no longer spooled stops the run rather than lose them.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from joinery.delivery.spool import DEFAULT_MAX_BYTES, SpoolPlace
from joinery.plan import nodes
from joinery.project.quantity import size_bytes
from joinery.sinks.protocol import Sink, SinkError

_FOLDER = "joinery-spool"


def spool_places(
    product: str, sinks: Sequence[Sink], declared: Sequence[nodes.Sink], checkpoint: Path
) -> tuple[SpoolPlace | None, ...]:
    """Return the spool of each sink, None for one that is written directly.

    Raises:
        SinkError: A spool holds documents for a target that has no spool any more.
    """
    root = checkpoint / _FOLDER / product
    places = tuple(
        _place(root, sink, dict(each.options)) for sink, each in zip(sinks, declared, strict=False)
    )
    known = {each.folder for each in places if each is not None}
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if folder not in known and any(folder.iterdir()):
            raise SinkError(
                f'a spool of product "{product}" holds documents for a sink without a spool',
                detail=f"It is {folder}.",
                hint="Run once with the sink as it was, or remove the folder to give them up.",
            )
    return places


def forget_spools(checkpoint: Path) -> None:
    """Remove all that spools of a checkpoint hold."""
    root = checkpoint / _FOLDER
    if root.exists():
        shutil.rmtree(root)


def _place(root: Path, sink: Sink, options: dict[str, object]) -> SpoolPlace | None:
    if options.get("spool") is not True:
        return None
    name = hashlib.sha256(sink.target.encode()).hexdigest()[:16]
    most = size_bytes(str(options.get("spool_max_bytes", DEFAULT_MAX_BYTES)))
    return SpoolPlace(root / name, most or DEFAULT_MAX_BYTES)
