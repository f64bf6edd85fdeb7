"""The archive of classes with which Spark's JVM starts sooner (class data sharing, JEP 350).

A start of Spark loads thousands of classes; those that are mapped from an archive are not
parsed and verified again. The archive belongs to one Java and one set of jars. It is made by
`class_recorder`; without one Spark starts as ever.

Invariant: an archive that stands under its final name is complete, and the JVM ignores one
that does not fit its jars.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import sys
from pathlib import Path

from joinery.artifact import java


def archive_file() -> Path:
    """Return where the archive of this Java, this Spark and this environment stands."""
    program = Path(java()).resolve()
    package = importlib.util.find_spec("pyspark")
    jars = Path(package.origin or "").parent / "jars" if package else Path()
    known = (program, program.stat().st_mtime_ns, jars, jars.stat().st_mtime_ns)
    told = " ".join(map(str, (*known, importlib.metadata.version("pyspark"))))
    name = hashlib.sha256(told.encode()).hexdigest()[:16]
    return Path(sys.prefix) / "share" / "joinery" / f"classes-{name}.jsa"


def archive_option() -> str:
    """Return the option with which the JVM takes the archive; empty where there is none."""
    found = archive_file()
    return f'"-XX:SharedArchiveFile={found}"' if found.exists() else ""
