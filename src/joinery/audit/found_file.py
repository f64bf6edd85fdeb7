"""What a comparison has found so far, in a file beside the checkpoint, so that it can go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from joinery.audit.found import Found
from joinery.audit.verdict import Difference, Open
from joinery.files import write_whole

_FORMAT = 1
State = Literal["going", "ended"]


@dataclass(frozen=True, slots=True)
class FoundFile:
    """The file of one product and sink.

    Attributes:
        path: Where it is.
        about: What is compared and how; a comparison of another kind does not go on from it.
    """

    path: Path
    about: Mapping[str, object]

    def read(self) -> Found | None:
        """Return what a comparison that was broken off had found; None where there is none."""
        try:
            told = json.loads(self.path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        begun = told.get("format") == _FORMAT and told.get("state") == "going"
        about = json.loads(json.dumps(dict(self.about)))  # JSON has lists in the place of tuples.
        return _found(told["found"]) if begun and told.get("about") == about else None

    def write(self, found: Found, state: State = "going") -> None:
        """Write down what was found."""
        told = {
            "format": _FORMAT,
            "state": state,
            "about": dict(self.about),
            "found": asdict(found),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, json.dumps(told, ensure_ascii=False), synced=False)


def found_path(root: Path, product: str, target: str, by: str = "") -> Path:
    """Return the file of a product and sink, below the checkpoint folder of a project.

    Args:
        root: The folder.
        product: The product.
        target: The sink.
        by: Who compares, where that is not a command.
    """
    name = f"{product}-{crc32(target.encode()):08x}{f'.{by}' if by else ''}"
    return root / "_diff" / f"{name}.json"


def _found(told: Mapping[str, Any]) -> Found:
    return Found(
        **{
            **told,
            "differences": [Difference(**each) for each in told["differences"]],
            "unsettled": [Open(**each) for each in told["unsettled"]],
            "unreadable": [Open(**each) for each in told["unreadable"]],
        }
    )
