"""A folder with a project file, as tests declare it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from joinery.plan.build import build_plan
from joinery.plan.product import Plan
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """A project by its folder, read anew with each look."""

    folder: Path

    @property
    def spec(self) -> ProjectSpec:
        """The project as its file declares it."""
        return load_spec(self.folder / "joinery.yaml")

    @property
    def plan(self) -> Plan:
        """The plan of the project."""
        return build_plan(self.spec)
