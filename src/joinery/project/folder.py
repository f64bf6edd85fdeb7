"""Which files of a folder are read as one project."""

from __future__ import annotations

from pathlib import Path


def yaml_files(folder: Path) -> list[Path]:
    """Return the `*.yaml` and `*.yml` of a folder, in the order of their names."""
    return sorted(
        each
        for each in folder.iterdir()
        if each.suffix in (".yaml", ".yml") and not each.name.startswith(".") and each.is_file()
    )
