"""The error catalogue: every code is written one way, documented, and survives a process border."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import re
from pathlib import Path

import joinery
from joinery.dead_letters.dead_letter import REASONS
from joinery.errors import JoineryError, Location, SpecError

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "joinery"
CATALOGUE = ROOT / "docs" / "errors.md"
CODE = re.compile(r'\b(?:code(?::\s*str)?\s*=\s*|code=)"([A-Z][A-Z0-9_]*)"')
LITERAL = re.compile(r'"((?:CONTRACT|SPEC|PLAN|RUN|STATE|WARN)_[A-Z0-9_]+)"')
ROW = re.compile(r"^\| `([A-Z][A-Z0-9_]*)` \|", re.MULTILINE)


def codes_in_use() -> set[str]:
    """Return every error code that a source file spells out."""
    texts = [path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")]
    return {code for text in texts for code in (*CODE.findall(text), *LITERAL.findall(text))}


def error_classes() -> set[type[JoineryError]]:
    """Return every error class outside joinery.spark, which needs Spark to import."""
    for module in pkgutil.walk_packages(joinery.__path__, "joinery."):
        if not module.name.startswith("joinery.spark") and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: set[type[JoineryError]] = set()
    waiting = [JoineryError]
    while waiting:
        kind = waiting.pop()
        found.add(kind)
        waiting += kind.__subclasses__()
    return found


def test_every_code_in_use_is_documented() -> None:
    documented = set(ROW.findall(CATALOGUE.read_text(encoding="utf-8")))

    assert codes_in_use() - documented == set()


def test_every_documented_code_is_in_use() -> None:
    documented = set(ROW.findall(CATALOGUE.read_text(encoding="utf-8")))

    assert documented - codes_in_use() == set()


def test_a_code_is_documented_once() -> None:
    rows = ROW.findall(CATALOGUE.read_text(encoding="utf-8"))

    assert sorted(set(rows)) == sorted(rows)


def test_no_two_error_classes_share_a_code_of_their_own() -> None:
    own = [kind.code for kind in error_classes() if "code" in vars(kind)]

    assert sorted(set(own)) == sorted(own)


def test_an_error_keeps_its_facts_across_a_process_border() -> None:
    error = SpecError(
        'relation "user" has no field "emial"',
        detail="Its fields are email.",
        hint='Use "email".',
        location=Location("joinery.yaml", 14, 9),
        code="SPEC_EXAMPLE",
    )

    arrived = pickle.loads(pickle.dumps(error))

    assert (arrived.code, arrived.message, arrived.detail, arrived.hint, arrived.location) == (
        error.code,
        error.message,
        error.detail,
        error.hint,
        error.location,
    )


def test_the_reasons_of_dead_letters_are_those_that_are_documented() -> None:
    catalogue = CATALOGUE.read_text(encoding="utf-8").partition("## Dead letters")[2]

    assert list(REASONS) == re.findall(r"^\| `([a-z_]+)` \|", catalogue, re.MULTILINE)


def test_every_reason_that_a_sink_gives_is_one_of_them() -> None:
    texts = (each.read_text(encoding="utf-8") for each in SOURCES.rglob("*.py"))
    given = {word for text in texts for word in re.findall(r'Refusal\([^"]+?, "(\w+)"', text)}

    assert "document_refused" in given
    assert set() == given - set(REASONS)


def test_every_reason_of_dead_letters_is_given_somewhere() -> None:
    kernel = (ROOT / "kernel" / "src" / "main").rglob("*.java")
    texts = [each.read_text(encoding="utf-8") for each in (*SOURCES.rglob("*.py"), *kernel)]

    assert [] == [each for each in REASONS if sum(f'"{each}"' in text for text in texts) < 2]
