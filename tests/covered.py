"""Prints how much of the code tests have run: a line a room, worst first.

Called by `make coverage` with the JSON that coverage.py writes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

_PACKAGE = "joinery"


def table(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: rooms, their lines that can run, those that did."""
    lines, ran = Counter[str](), Counter[str]()
    for file, facts in report["files"].items():
        room = room_of(PurePath(file))
        lines[room] += facts["summary"]["num_statements"]
        ran[room] += facts["summary"]["covered_lines"]
    yield "| room | statements | run by tests |"
    yield "| --- | ---: | ---: |"
    for room in sorted(lines, key=lambda each: ran[each] / max(lines[each], 1)):
        yield f"| `{room}` | {lines[room]:,} | {_share(ran[room], lines[room])} |"
    yield f"| all | {lines.total():,} | {_share(ran.total(), lines.total())} |"


def room_of(file: PurePath) -> str:
    """Return the folder below the package, or the file that stands beside them."""
    return file.parts[file.parts.index(_PACKAGE) + 1]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"


if __name__ == "__main__":
    sys.stdout.writelines(f"{each}\n" for each in table(json.loads(Path(sys.argv[1]).read_text())))
