"""The plan of one product whose documents somebody asks about."""

from __future__ import annotations

from difflib import get_close_matches

from joinery.app.logs import WhyError
from joinery.plan.build import examine
from joinery.plan.product import DocumentForm, Product
from joinery.project.product import ProjectSpec
from joinery.project.read import raise_all


def document_product(spec: ProjectSpec, name: str, asked: str = "why") -> Product:
    """Return the plan of a product with documents.

    Args:
        spec: The project.
        name: The product's.
        asked: The command that asks.

    Raises:
        WhyError: There is none of that name, or it has another form.
        ProjectErrors: It has problems.
    """
    found = asked_product(spec, name, asked)
    if not isinstance(found.form, DocumentForm):
        raise WhyError(f'product "{name}" has no root: {asked} covers documents only, so far')
    return found


def asked_product(spec: ProjectSpec, name: str, asked: str = "why") -> Product:
    """Return the plan of a product of any form, made of relations alone.

    Args:
        spec: The project.
        name: The product's.
        asked: The command that asks.

    Raises:
        WhyError: There is none of that name, or it reads what the command does not cover.
        ProjectErrors: It has problems.
    """
    known = [each.name for each in spec.products]
    if name not in known:
        raise unknown_product(spec, name, asked)
    plan, problems, _ = examine(spec.alone(name))
    raise_all(problems)
    assert plan is not None
    found = next(each for each in plan.products if each.name == name)
    rooted = isinstance(found.form, DocumentForm)
    if rooted and any(each.as_of is not None for each in found.root.walk()):
        what = f"embeds versions (as_of), which {asked} does not cover yet"
        raise WhyError(f'product "{name}" {what}')
    if found.reads:
        what = f"reads another product, which {asked} does not cover yet"
        raise WhyError(f'product "{name}" {what}')
    return found


def unknown_product(spec: ProjectSpec, name: str, asked: str) -> WhyError:
    """Return that the project has no product of a name.

    Args:
        spec: The project.
        name: The one that was asked for.
        asked: The command that asks.
    """
    known = [each.name for each in spec.products]
    near = get_close_matches(str(name), known, 1)  # a caller may give any object
    guess = f"Did you mean {near[0]}? " if near else ""
    hint = f"{guess}Known: {', '.join(known)}." if known else "The project has no product."
    if any(each.name == name for each in spec.streams):
        return WhyError(f'"{name}" is a stream, which {asked} does not cover', hint=hint)
    return WhyError(f'there is no product "{name}"', hint=hint)


def only_product(spec: ProjectSpec, asked: str, hint: str) -> str:
    """Return the name of a project's only product.

    Args:
        spec: The project.
        asked: The command that asks.
        hint: How one of several is named.

    Raises:
        WhyError: There is none, or several.
    """
    names = [each.name for each in spec.products]
    if len(names) == 1:
        return names[0]
    if not names:
        raise WhyError(f"the project has no product; {asked} does not cover streams")
    raise WhyError("which product?", detail=f"The project has {', '.join(names)}.", hint=hint)
