"""`joinery capture`: the logs of databases go into their spools, with or without a run beside."""

from __future__ import annotations

import difflib
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from joinery.cli.ending import DONE
from joinery.cli.live import waiting_line
from joinery.cli.project import warnings_once
from joinery.cli.run import StopSignals
from joinery.errors import SpecError
from joinery.model.progress import Waiting
from joinery.project.captured import CAPTURED
from joinery.project.kind import SourceSpec
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.spark.batch.captures import make_capture

_LOOK_S = 0.2


def captured_sources(spec: ProjectSpec, names: Sequence[str] = ()) -> tuple[SourceSpec, ...]:
    """Return the sources that are databases: all, or those of some names.

    Raises:
        SpecError: There is none, or none of a name.
    """
    known = {each.name: each for each in spec.sources if each.kind in CAPTURED}
    if not known:
        raise SpecError(
            "the project has no source whose log is captured",
            hint="Write sources: {shop: {postgres: {url: postgresql://…}}}.",
            code="RUN_SELECTION",
        )
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise SpecError(
                f'no source "{name}" is a database',
                detail=f"Databases are {', '.join(known)}.",
                hint=f'Use "{near[0]}".' if near else "",
                code="RUN_SELECTION",
            )
    return tuple(known[each] for each in names or known)


def run_capture(file: Path, names: Sequence[str]) -> int:
    """Capture until we are asked to end.

    Raises:
        JoineryError: A capture failed.
    """
    spec, ending, asked = load_spec(file), StopSignals(), threading.Event()
    ending.listen()
    ending.attach(asked.set)
    warn = warnings_once()
    captures = [make_capture(spec, each, _tell, warn) for each in captured_sources(spec, names)]
    try:
        for each in captures:
            each.start()
            sys.stderr.write(f"capturing {each.shown}\n")
        while not asked.wait(_LOOK_S):
            for each in captures:
                if each.error is not None:
                    raise each.error
        return DONE
    finally:
        for each in captures:
            each.close()


def _tell(target: str, waiting: Waiting | None) -> None:
    said = f"{target} is back" if waiting is None else waiting_line(waiting)
    sys.stderr.write(f"{said}\n")
