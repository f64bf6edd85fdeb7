"""A project with a database as a source, and the problems that planning it finds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from joinery.errors import ProjectErrors
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec

_PROJECT = """\
name: My Shop
sources:
  db: {{{kind}: {{{options}}}}}
defaults: {{format: json}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
  purchase: {{topic: {purchase}, {more}key: [id], fields: {{id: long, customer_id: long}}}}
products:
  profile: {{root: customer, sink: {{files: {{path: out}}}}}}
  bought: {{root: purchase, sink: {{files: {{path: out}}}}}}
"""


@dataclass(frozen=True, slots=True)
class CapturedProject:
    """Customers and purchases of a database.

    Attributes:
        kind: Of the source.
        url: Its first option, as a project file has it.
        purchase: The table of purchases, in another schema than that of customers.
    """

    kind: str
    url: str
    purchase: str

    def load(self, folder: Path, options: str = "", more: str = "") -> ProjectSpec:
        """Load the project; `options` are the source's, `more` is of purchases."""
        file = folder / "joinery.yaml"
        named = {"kind": self.kind, "purchase": self.purchase}
        file.write_text(_PROJECT.format(options=options or self.url, more=more, **named))
        return load_spec(file)

    def problems(self, folder: Path, options: str = "", more: str = "") -> list[str]:
        """Return what is wrong with the project."""
        with pytest.raises(ProjectErrors) as refused:
            build_plan(self.load(folder, options, more))
        return [f"{each}" for each in refused.value.problems]
