"""Which package of the kernel may import which: text of Java imports against one table."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

KERNEL = Path(__file__).parents[2] / "kernel/src/main/java/dev/joinery/kernel"
OURS = re.compile(r"dev\.joinery\.kernel\.(\w+)\.")
SPARKS_INSIDES = re.compile(r"org\.apache\.spark\.sql\.(?:execution|classic)\.")

# In the order of the layers: a package imports only packages above it in this table.
ALLOWED: dict[str, set[str]] = {
    "bytes": set(),
    "render": set(),
    "format": {"bytes"},
    "admission": set(),
    "files": {"admission", "format"},
    "kafka": {"admission"},
    "program": {"bytes"},
    "message": {"bytes", "program", "render"},
    "state": {"bytes"},
    "search": {"bytes"},
    "spark": {"admission", "bytes", "message", "program", "render"},
    "node": {"bytes", "message", "program", "render", "search", "state"},
    "stream": {"bytes", "format", "message", "node", "program", "state"},
    "chain": {"bytes", "message", "node", "program", "spark", "state", "stream"},
    "ingress": {"bytes", "chain", "format", "message", "node", "program", "render", "stream"},
    "egress": {"bytes", "message", "program", "render"},
    "door": {
        *("bytes", "render", "format", "files", "kafka", "program", "message", "spark"),
        *("node", "stream", "chain", "ingress", "egress"),
    },
}


def imports() -> dict[str, set[str]]:
    """Return the packages of the kernel that each of them names in its code."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in KERNEL.rglob("*.java"):
        package = path.parent.name
        found[package] |= set(OURS.findall(path.read_text(encoding="utf-8"))) - {package}
    return dict(found)


def test_each_class_of_the_kernel_stands_in_a_package_that_is_known() -> None:
    folders = {path.parent.relative_to(KERNEL).as_posix() for path in KERNEL.rglob("*.java")}

    assert folders == set(ALLOWED)


def test_a_package_of_the_kernel_imports_only_what_the_table_allows() -> None:
    beyond = {package: names - ALLOWED[package] for package, names in imports().items()}

    assert {package: names for package, names in beyond.items() if names} == {}


def test_the_table_of_packages_has_no_circle() -> None:
    above: set[str] = set()
    upwards = {}
    for package, names in ALLOWED.items():
        upwards[package] = names - above
        above.add(package)

    assert {package: names for package, names in upwards.items() if names} == {}


def test_each_package_of_the_kernel_says_what_it_is_and_what_it_never_does() -> None:
    told = {
        package: (KERNEL / package / "package-info.java").read_text(encoding="utf-8")
        for package in ALLOWED
    }

    assert [package for package, text in told.items() if "<p>Never " not in text] == []


def test_only_some_packages_know_the_insides_of_spark_sql() -> None:
    knowing = {
        path.parent.name
        for path in KERNEL.rglob("*.java")
        if SPARKS_INSIDES.search(path.read_text(encoding="utf-8"))
    }

    assert knowing <= {"spark", "program", "chain", "door"}
