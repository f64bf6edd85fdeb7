"""Puts the compiled kernel into a wheel, so that an installed Joinery needs no compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

JAR = Path("kernel/build/wheel/joinery-kernel.jar")


class KernelHook(BuildHookInterface[Any]):
    """Ships the jar that `make wheel` put aside as `joinery/_kernel/joinery-kernel.jar`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the jar to a wheel; an editable install builds its own at first use."""
        if version == "editable":
            return
        jar = Path(self.root) / JAR
        if not jar.is_file():
            raise FileNotFoundError(f"{JAR} is missing: build the wheel with `make wheel`")
        build_data["force_include"][str(jar)] = "joinery/_kernel/joinery-kernel.jar"
