"""Up to which place of a database's log a product has come, where it reads the spool."""

from __future__ import annotations

from pathlib import Path

from joinery.audit.applied import SpoolApplied
from joinery.capture.spool import CapturePosition, SpoolFolder


class Silent:
    """A log in which nothing happens."""

    def mark(self) -> None:
        raise AssertionError("nobody captures")

    def is_silent(self, after: CapturePosition, place: int) -> bool:
        return True


def test_a_place_is_not_reached_while_changes_of_a_table_are_held(tmp_path: Path) -> None:
    spool = SpoolFolder.claim(tmp_path / "spool", slot="s", tables=("public.a", "public.b"))
    spool.note_begins(("public.a", "public.b"))
    spool.note_read("s", 100, 0)
    spool.note_joined("public.b")
    found = {}

    for table in ("a", "b"):
        applied = SpoolApplied(
            "db", spool, [f"public.{table}"], tmp_path / "none", log=Silent(), wait_s=0.0
        )
        found[table] = (applied.heard(), applied.reach(100))

    assert {"a": (0, False), "b": (100, True)} == found
