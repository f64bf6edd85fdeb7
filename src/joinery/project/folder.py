"""Which files of a folder are read as one project."""

from __future__ import annotations

from pathlib import Path


def yaml_files(folder: Path) -> list[Path]:
    """Return the `*.yaml` and `*.yml` of a folder, in the order of their names."""
    return sorted(each for each in folder.iterdir() if is_yaml(each.name) and each.is_file())


def is_yaml(name: str) -> bool:
    """Return whether a file of this name is read.

    Example:
        >>> is_yaml("shop.yml"), is_yaml(".draft.yaml"), is_yaml("shop.json")
        (True, False, False)
    """
    return name.endswith((".yaml", ".yml")) and not name.startswith(".")
