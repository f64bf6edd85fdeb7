"""The contracts on imports name every room but the one that may import what they forbid."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("contract", "free"), [("pyspark", "spark"), ("terminal", "cli")])
def test_no_room_is_forgotten(contract: str, free: str) -> None:
    named = _contracts()[contract]["source_modules"]

    assert sorted(named) == sorted(f"joinery.{each}" for each in _rooms() - {free})


def _rooms() -> set[str]:
    found = (ROOT / "src" / "joinery").iterdir()
    names = (each.stem for each in found if each.is_dir() or each.suffix == ".py")
    return {each for each in names if not each.startswith("_")}


def _contracts() -> dict[str, dict[str, Any]]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    return {each["id"]: each for each in contracts if "id" in each}
