"""The names a project file may use, with what each holds, as JSON Schema fragments.

Those that are fields of a spec follow from it; the project's own are here.

Invariant: the reader takes its known names from here, so it and the shipped schema agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joinery.project.audit import AuditSpec
from joinery.project.emit import Emit
from joinery.project.expect import Expectations
from joinery.project.form import FORMS, DocumentSpec, FormSpec, OutboxSpec, RuleSpec, is_below
from joinery.project.marks import MarksSpec
from joinery.project.node import SHOWN, HotSpec
from joinery.project.option import Fragment, Names
from joinery.project.part import Part, keys_of, names_of
from joinery.project.product import DefaultsSpec, ProductSpec
from joinery.project.relation import PersonalSpec
from joinery.project.run import LineageSpec, RunSpec
from joinery.project.step import STEPS, Cache, Limits, step_fragment
from joinery.project.stream import ClocksSpec, StreamSpec, WatermarkSpec

RESERVED_PROJECT = ("functions",)


def _text(description: str, **more: Any) -> Fragment:
    return {"type": "string", "description": description, **more}


def _ref(name: str, description: str = "", **more: Any) -> Fragment:
    reference = {"$ref": f"#/$defs/{name}"}
    return {**reference, "description": description, **more} if description else reference


def _map(name: str, description: str) -> Fragment:
    return {"type": "object", "additionalProperties": _ref(name), "description": description}


PROJECT: Names = {
    "joinery": {"const": 1, "description": "The version of this file format."},
    "name": _text("The project's name.", default="project"),
    "sources": _map("source", "Where changes are read from, by name."),
    "defaults": _ref("defaults", "Source and format of relations that name none."),
    "relations": _map("relation", "The tables whose changes are read, by name."),
    "products": _map("product", "The documents to keep up to date, by name."),
    "streams": _map("stream", "Logs of events to enrich, by name."),
    "windows": _map("window", "Windows of time that several products share, by name."),
    "sinks": _map("sink_map", "Sinks that several products or streams share, by name."),
    "vault": _ref("vault", "Where the keys of personal columns are."),
    "run": _ref("run", "How the project runs."),
}
OUTBOX: Names = {
    "relation": _text("The relation whose inserted rows are the events."),
    **names_of(OutboxSpec),
}
FORM_KEYS: Mapping[str, tuple[str, ...]] = {
    word: () if is_below(kind) else tuple(keys_of(kind)) for word, kind in FORMS.items()
} | {DocumentSpec.word: (*SHOWN, "erased", "personal_key")}
"""By the key that declares a product's form, the keys that a product of the form may have."""


def _form(kind: type[FormSpec]) -> Fragment:
    """Return what stands under the word of a form."""
    if not is_below(kind):
        return _text(kind.about)
    below = {"type": "object", "additionalProperties": False, "properties": OUTBOX}
    return {"description": kind.about, "anyOf": [_text("The relation."), below]}


def _of_forms() -> Names:
    """Return the keys of all forms but documents, each with the forms that it is of."""
    found: dict[str, dict[str, Fragment]] = {}
    for word, kind in FORMS.items():
        for name, shape in names_of(kind).items() if not is_below(kind) else ():
            found.setdefault(name, {})[word] = shape
    return {
        name: {**next(iter(forms.values())), "description": _described(forms)}
        for name, forms in found.items()
        if name not in SHOWN
    }


def _described(forms: Mapping[str, Fragment]) -> str:
    """Return what a key means in each of its forms, as one sentence."""
    told = {word: str(shape["description"]) for word, shape in forms.items()}
    lower = {word: text[0].lower() + text[1:] for word, text in told.items()}
    if len(lower) == 1:
        ((word, text),) = lower.items()
        return f"Of `{word}`: {text}"
    text = "; ".join(f"of `{word}`, {text.removesuffix('.')}" for word, text in lower.items())
    return f"O{text[1:]}."


PRODUCT: Names = {
    **{word: _form(kind) for word, kind in FORMS.items()},
    **SHOWN,
    **_of_forms(),
    **names_of(ProductSpec),
}

PARTS: Mapping[str, type[Part]] = {
    "defaults": DefaultsSpec,
    "emit": Emit,
    "personal": PersonalSpec,
    "watermark": WatermarkSpec,
    "clocks": ClocksSpec,
    "hot": HotSpec,
    "rule": RuleSpec,
    "expect": Expectations,
    "cache": Cache,
    "limits": Limits,
    "stream": StreamSpec,
    "audit": AuditSpec,
    "marks": MarksSpec,
    "run": RunSpec,
    "lineage": LineageSpec,
}
"""The maps whose keys are the fields of a value, by their names in the JSON Schema."""
STEP: Names = {word: step_fragment(kind) for word, kind in STEPS.items()}
