"""Puts the compiled kernel into a wheel, so that an installed Joinery needs no compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("kernel/build/wheel")
JARS = ("joinery-kernel.jar", "joinery-capture.jar")


class KernelHook(BuildHookInterface[Any]):
    """Ships the jars that `make wheel` put aside, in `joinery/_kernel`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the jars to a wheel; an editable install builds its own at first use."""
        if version == "editable":
            return
        for name in JARS:
            jar = Path(self.root) / FOLDER / name
            if not jar.is_file():
                raise FileNotFoundError(f"{jar} is missing: build the wheel with `make wheel`")
            build_data["force_include"][str(jar)] = f"joinery/_kernel/{name}"
