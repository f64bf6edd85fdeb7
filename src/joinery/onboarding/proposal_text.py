"""A proposal as a project file: what was assumed in comments, an entry in few lines.

Invariant: the text depends on the proposal and on how its database is reached, on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from joinery.onboarding.proposal import SINK, Proposal
from joinery.project.edit import folded
from joinery.project.load import flow_text
from joinery.project.relation import relation_data
from joinery.project.write import product_data

VARIABLE = "DATABASE"
_SECRETS = ("password", "sslpassword")
_WIDTH = 100
_STEP = "  "
_HEAD = """\
# yaml-language-server: $schema=joinery.schema.json
# Proposed by joinery init from {tables} of {where}.
# What was assumed, for you to judge:
# - A table that others name by a foreign key is worth a document. Remove those nobody needs.
# - A document has the rows that name its own, and the row that each foreign key of them names.
#   Lists that may grow long want a limit: (and an order:).
# - All columns may be seen. Remove from fields: what is not for the readers of documents.
"""
_ALSO = {
    "postgres": """\
# - The key of a row stays what it is. Where one changes, columns of long texts and the like become
#   null, unless the table has replica identity full.
""",
    "mysql": """\
# - No bigint unsigned holds a number above 2^63 - 1. A row that has one becomes a dead letter.
""",
}
_SINKS = """\
sinks:                                # of all products; documents into a table, or an index:
  {sink}: {{files: {{path: out}}}}           # {{postgres: {{url: …}}}}, {{opensearch: {{url: …}}}}
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a proposal comes from.

    Attributes:
        name: The project's.
        shown: The database, for people.
        url: As a user gave it.
        kind: Of the source.
    """

    name: str
    shown: str
    url: str
    kind: Literal["postgres", "mysql"] = "postgres"


def without_password(url: str) -> str:
    """Return the URL of a database without its password.

    Example:
        >>> without_password("postgresql://ada:engine@db:5433/shop?sslmode=require")
        'postgresql://ada@db:5433/shop?sslmode=require'
    """
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    query = [each for each in parts.query.split("&") if each.partition("=")[0] not in _SECRETS]
    netloc = f"{user.partition(':')[0]}{at}{host}"
    return urlunsplit(parts._replace(netloc=netloc, query="&".join(query)))


def project_text(proposal: Proposal, origin: Origin) -> str:
    """Return the project file of a proposal."""
    return "\n".join((*_lines(proposal, origin), ""))


def _lines(proposal: Proposal, origin: Origin) -> Iterator[str]:
    count = len(proposal.relations)
    tables = "one table" if count == 1 else f"{count} tables"
    yield from _HEAD.format(tables=tables, where=origin.shown).splitlines()
    yield from _ALSO[origin.kind].splitlines()
    yield from (f"# Left out: {_one_line(each)}" for each in proposal.left_out)
    yield from _entry("name", origin.name, "")
    yield from ("sources:", f'{_STEP}db: {{{origin.kind}: {{url: "{_address(origin.url)}"}}}}', "")
    yield "relations:"
    for relation in proposal.relations:
        notes = proposal.notes.get(relation.name, ())
        yield from (f"{_STEP}# {_one_line(each)}" for each in notes)
        yield from _entry(relation.name, relation_data(relation), _STEP)
    yield from ("", *_SINKS.format(sink=SINK).splitlines(), "", "products:")
    for product in proposal.products:
        yield from _entry(product.name, product_data(product), _STEP, whole=False)


def _address(url: str) -> str:
    """Return a variable of the environment that is a URL where it is not set."""
    told = without_password(url)
    return f"${{{VARIABLE}}}" if set('}"\\') & {*told} else f"${{{VARIABLE}:-{told}}}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _entry(name: str, value: Any, margin: str, *, whole: bool = True) -> Iterator[str]:
    """Yield an entry of a map: on one line where it fits and may, else a line for each part."""
    line = f"{margin}{flow_text({name: value})[1:-1]}"
    parts = isinstance(value, dict) and any(isinstance(e, dict | list) for e in value.values())
    if whole and len(line) <= _WIDTH:
        yield line
    elif not parts:
        yield from folded(line, margin + _STEP)
    else:
        yield margin + flow_text({name: 0})[1:-1].removesuffix(" 0")
        for each, part in value.items():
            yield from _entry(each, part, margin + _STEP)
