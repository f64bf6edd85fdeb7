"""One stream explained: its plan as text, as Mermaid, and as a page with a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from joinery.plan.explain import STYLE, Section, html_page, label
from joinery.plan.picture_stream import stream_svg
from joinery.plan.render_stream import render_stream, runs, step_text, switches
from joinery.plan.stream import Lookup, Stream, Union


@dataclass(frozen=True, slots=True)
class StreamExplanation:
    """A stream's plan, and what else there is to say about it.

    Attributes:
        stream: The stream.
        sections: What follows the plan, such as operators of the runtime.
        why: Whether to say how each lookup runs, and why so.
    """

    stream: Stream
    sections: tuple[Section, ...] = ()
    why: bool = False

    @property
    def _all(self) -> tuple[Section, ...]:
        told = runs(self.stream) if self.why else []
        how = (Section("how it runs", "\n".join(told)),) if told else ()
        return (*how, *self.sections)

    def __str__(self) -> str:
        parts = [("logical", render_stream(self.stream))]
        parts += [(section.title, section.text) for section in self._all]
        return "\n".join(f"-- {title}\n{text.rstrip()}\n" for title, text in parts).rstrip("\n")

    def to_mermaid(self) -> str:
        """Return the steps as a Mermaid flowchart."""
        lines = ["flowchart TD", *_flow(self.stream, "n")[0]]
        lines += [line for section in self.sections for line in section.mermaid]
        return "\n  ".join(lines) + "\n"

    @property
    def name(self) -> str:
        """The stream's."""
        return self.stream.name

    def page_sections(self) -> tuple[Section, ...]:
        """Return what a page shows, with pictures."""
        logical = Section("logical plan", render_stream(self.stream), stream_svg(self.stream))
        return (logical, *self._all)

    def to_html(self) -> str:
        """Return one page that needs nothing beside itself."""
        return html_page(f"Plan of {self.name}", [("", self.page_sections())])

    def _repr_html_(self) -> str:
        """Return the picture and the text, as a notebook shows them."""
        inside = f"{stream_svg(self.stream)}<pre>{escape(str(self))}</pre>"
        return f'<style>{_scoped()}</style><div class="joinery">{inside}</div>'


def explain_stream(
    stream: Stream, sections: Iterable[Section] = (), *, why: bool = False
) -> StreamExplanation:
    """Return the explanation of `stream`, followed by `sections`."""
    return StreamExplanation(stream, tuple(sections), why)


def _scoped() -> str:
    """Return the page's rules for pictures, within one element of the notebook's page."""
    rules = "\n".join(line for line in STYLE.splitlines() if line.startswith("svg"))
    colours = STYLE.partition("{")[2].partition("}")[0].replace("color-scheme: light dark;", "")
    return f".joinery {{ {colours}\n{rules} }}"


def _flow(stream: Stream, prefix: str) -> tuple[list[str], str]:
    """Return the lines of a stream's boxes, and the name of the last one."""
    last = f"{prefix}0"
    lines = [f"{last}([{label(f'{stream.relation.name}<br/>events')}])"]
    for index, step in enumerate(stream.steps, 1):
        name = f"{prefix}{index}"
        lines.append(f"{name}[{label(_box(step))}]")
        lines.append(f"{last} --> {name}")
        if isinstance(step, Lookup) and step.read != "event":
            kind = f"{step.table.name}<br/>{'changes' if step.read == 'state' else 'store'}"
            lines.append(f"{name}t[({label(kind)})] --> {name}")
        elif isinstance(step, Union):
            inner, end = _flow(step.other, f"{name}_")
            lines += [*inner, f"{end} --> {name}"]
        last = name
    sinks = ", ".join(each.kind for each in stream.sinks)
    if sinks:
        lines += [
            f"{prefix}out([{label(f'{stream.name}<br/>{sinks}')}])",
            f"{last} --> {prefix}out",
        ]
    return lines, last


def _box(step: object) -> str:
    if isinstance(step, Lookup):
        shown = ", ".join(each.name for each in step.fields)
        return "<br/>".join([f"Lookup {step.table.name}", shown, *switches(step)])
    return step_text(step)  # type: ignore[arg-type]
