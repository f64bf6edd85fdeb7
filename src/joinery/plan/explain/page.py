"""One product explained: the logical plan as text, as Mermaid, and as a page with a picture.

One stream explained: its plan as text, as Mermaid, and as a page with a picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from joinery.plan.explain.document import edge_parts
from joinery.plan.explain.form import shown
from joinery.plan.explain.picture import stream_svg, svg
from joinery.plan.explain.stream import render_stream, runs, step_text, switches
from joinery.plan.explain.text import render_product
from joinery.plan.node import Node
from joinery.plan.product import DocumentForm, OutboxForm, Product
from joinery.plan.step import Lookup, Step, Union, beside
from joinery.plan.stream import Stream
from joinery.plan.timed_step import Join

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5b6b7c; --paper: #fbfbfa;
  --card: #ffffff; --line: #b9c4cf; --root: #dcefe3; --one: #e4ecfb; --many: #fdf0d5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #9fb0c0; --paper: #15191e;
  --card: #1d232a; --line: #4a5866; --root: #1f3d2c; --one: #22324f; --many: #46391b; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h1.chapter { font-size: 1.3rem; margin-top: 3rem; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
pre, .picture { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: 1rem; overflow-x: auto; }
pre { font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .title { font-weight: 600; } svg .note { fill: var(--soft); }
svg { max-width: 100%; height: auto; }
svg rect { stroke: var(--line); } svg path { stroke: var(--soft); fill: none; }
svg path.head { fill: var(--soft); stroke: none; }
svg .retract { fill: var(--card); } svg .lookup { fill: var(--one); }
svg .match { fill: var(--many); } svg .fold { fill: var(--root); }
svg rect.note { fill: none; stroke-dasharray: 4 3; }
svg .root { fill: var(--root); } svg .one { fill: var(--one); } svg .many { fill: var(--many); }
""".strip()


@dataclass(frozen=True, slots=True)
class Section:
    """What a solution adds to an explanation.

    Attributes:
        title: Its heading.
        text: As a terminal shows it.
        svg: A picture, or nothing.
        mermaid: Lines of a flowchart, or none.
    """

    title: str
    text: str
    svg: str = ""
    mermaid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """A product's plan, and what else there is to say about it.

    Attributes:
        product: The product.
        sections: What follows the plan, such as the kernel program.
    """

    product: Product
    sections: tuple[Section, ...] = ()

    def __str__(self) -> str:
        parts = [("logical", render_product(self.product))]
        parts += [(section.title, section.text) for section in self.sections]
        return "\n".join(f"-- {title}\n{text.rstrip()}\n" for title, text in parts).rstrip("\n")

    __repr__ = __str__

    def to_mermaid(self) -> str:
        """Return the tree, and what the sections draw, as a Mermaid flowchart."""
        lines = ["flowchart RL", *_flowchart(self.product)]
        lines += [f"  {line}" for section in self.sections for line in section.mermaid]
        return "\n".join(lines) + "\n"

    @property
    def name(self) -> str:
        """The product's."""
        return self.product.name

    def page_sections(self) -> tuple[Section, ...]:
        """Return what a page shows, with pictures."""
        logical = Section("logical plan", render_product(self.product), svg(self.product))
        return (logical, *self.sections)

    def to_html(self) -> str:
        """Return one page that needs nothing beside itself."""
        return html_page(f"Plan of {self.name}", [("", self.page_sections())])

    def _repr_html_(self) -> str:
        """Return the picture and the text, as a notebook shows them."""
        return _in_notebook(svg(self.product), str(self))


def _flowchart(product: Product) -> Iterator[str]:
    """Yield the boxes of a product and their edges."""
    match product.form:
        case DocumentForm(root) | OutboxForm(root):
            yield from _tree_chart(root)
        case Stream():
            yield from _flow(product.form, "n")[0]
        case flat:
            yield f"  n0[{label(product.name)}]"
            for place, (name, text) in enumerate(shown(flat, product.solution).edges, start=1):
                yield f"  n{place}[{label(name)}] -->|{label(text)}| n0"


def _tree_chart(root: Node) -> Iterator[str]:
    names = {node.path: f"n{index}" for index, node in enumerate(root.walk())}
    for node in root.walk():
        yield f"  {names[node.path]}{_box(node)}"
        for embed in node.embeds:
            yield f"  {names[embed.path]} -->|{label(_edge(embed))}| {names[node.path]}"


def explain(product: Product, sections: Iterable[Section] = ()) -> Explanation:
    """Return the explanation of `product`, followed by `sections`."""
    return Explanation(product, tuple(sections))


def html_page(title: str, chapters: Iterable[tuple[str, Iterable[Section]]]) -> str:
    """Return one page that needs nothing beside itself.

    Args:
        title: Of the page.
        chapters: A heading, or an empty text for none, and its sections.
    """
    parts: list[str] = []
    for name, sections in chapters:
        parts += [f'<h1 class="chapter">{escape(name)}</h1>'] if name else []
        parts += [_part(each) for each in sections]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n"
        f"{body}\n</body>\n</html>\n"
    )


def _part(section: Section) -> str:
    title = escape(section.title[:1].upper() + section.title[1:])
    picture = f'<div class="picture">\n{section.svg}\n</div>\n' if section.svg else ""
    return f"<h2>{title}</h2>\n{picture}<pre>{escape(section.text.rstrip())}</pre>"


def _box(node: Node) -> str:
    shown = ", ".join(field.name for field in node.output.fields)
    text = label(f"{node.name}<br/>{node.relation.name}<br/>{shown}")
    return f"([{text}])" if node.cardinality == "root" else f"[{text}]"


def _edge(embed: Node) -> str:
    return f"{embed.cardinality} " + "; ".join(edge_parts(embed))


def label(text: str) -> str:
    """Return a text in quotes, as Mermaid takes it; `<br/>` breaks its line."""
    breaks = "<br/>"
    parts = (part.replace("&", "#amp;").replace('"', "#quot;") for part in text.split(breaks))
    return f'"{breaks.join(part.replace("<", "#lt;").replace(">", "#gt;") for part in parts)}"'


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

    __repr__ = __str__

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
        return _in_notebook(stream_svg(self.stream), str(self))


def explain_stream(
    stream: Stream, sections: Iterable[Section] = (), *, why: bool = False
) -> StreamExplanation:
    """Return the explanation of `stream`, followed by `sections`."""
    return StreamExplanation(stream, tuple(sections), why)


def _in_notebook(picture: str, text: str) -> str:
    inside = f"{picture}<pre>{escape(text)}</pre>"
    return f'<style>{_scoped()}</style><div class="joinery">{inside}</div>'


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
        lines.append(f"{name}[{label(_step_box(step))}]")
        lines.append(f"{last} --> {name}")
        match beside(step):
            case Lookup() as lookup:
                kind = f"{lookup.table.name}<br/>{_table_kind(lookup)}"
                lines.append(f"{name}t[({label(kind)})] --> {name}")
            case Union(other):
                inner, end = _flow(other, f"{name}_")
                lines += [*inner, f"{end} --> {name}"]
            case Join(other):
                lines.append(f"{name}t([{label(f'{other.name}<br/>events')}]) --> {name}")
            case None:
                pass
        last = name
    sinks = ", ".join(each.kind for each in stream.sinks)
    if sinks:
        lines += [
            f"{prefix}out([{label(f'{stream.name}<br/>{sinks}')}])",
            f"{last} --> {prefix}out",
        ]
    return lines, last


def _table_kind(lookup: Lookup) -> str:
    return "changes" if lookup.read == "state" else "store"


def _step_box(step: Step) -> str:
    """Return a step's line; a lookup's without its columns, with what it adds."""
    if isinstance(step, Lookup):
        shown = ", ".join(each.name for each in step.fields)
        return "<br/>".join([f"Lookup {step.table.name}", shown, *switches(step)])
    return step_text(step)
