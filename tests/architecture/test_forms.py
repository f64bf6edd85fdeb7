"""What a product's form decides is a `match` over all of them, which mypy wants exhaustive."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import joinery

ROOT = Path(joinery.__file__).parent
FORMS = {
    f"{name}{kind}"
    for name in ("Document", "Outbox", "Aggregate", "Search", "History", "Pattern", "Fold")
    for kind in ("Form", "Spec")
}


def asked_one_by_one(path: Path) -> set[str]:
    """Return the forms that a module asks for with `isinstance`."""
    text = path.read_text(encoding="utf-8")
    calls = [
        node.args[1]
        for node in (ast.walk(ast.parse(text)) if any(form in text for form in FORMS) else ())
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
    ]
    named = (node for call in calls for node in ast.walk(call) if isinstance(node, ast.Name))
    return {node.id for node in named} & FORMS


def test_no_module_goes_through_the_forms_one_by_one() -> None:
    asked = {
        path.relative_to(ROOT).as_posix(): asked_one_by_one(path) for path in ROOT.rglob("*.py")
    }

    assert {} == {path: forms for path, forms in asked.items() if len(forms) > 2}


def test_a_form_is_decided_in_known_places() -> None:
    own = {"plan/fold.py", "plan/build_fold.py", "project/declare_fold.py"}
    own |= {"semantics/fold_reference.py", "solutions/spark_state/event_folding.py"}
    table = {"project/form.py"}
    table |= {"plan/product.py", "plan/build.py", "plan/support.py", "plan/watermark.py"}
    table |= {"plan/explain/form.py", "semantics/reference.py", "spark/real_time/rules.py"}
    table |= {"contract/origin.py"}
    table |= {"provenance/row_maker.py", "spark/frames/documents.py", "plan/build_personal.py"}
    table |= {f"solutions/spark_state/{name}.py" for name in ("needed", "lower", "lower_form")}
    named = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if re.search(r"\bFold(Form|Spec)\b", path.read_text(encoding="utf-8"))
    }

    assert own | table == named
