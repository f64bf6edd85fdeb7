"""The commands that help to declare a project: written, checked, shown and tried without Spark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from joinery.cli.argument import DEFAULT, File, Products, names_a_project

commands = typer.Typer()
table = typer.Typer(no_args_is_help=True, help="Add source tables to a project file.")
PANEL = "Declare"


@commands.command(rich_help_panel=PANEL)
def init(
    folder: Annotated[Path, typer.Argument(help="Where to write the project.")] = Path(),
    database: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="URL",
            help="Propose documents for the tables of a database: postgresql://user@host/name or"
            " mysql://….",
        ),
    ] = None,
    schema: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With --from: only this schema (MySQL: database); repeatable.",
        ),
    ] = None,
) -> None:
    """Create a small project with change files, ready to run; or one for your database."""
    if database is not None:
        from joinery.cli.init_from import run_init_from

        raise typer.Exit(run_init_from(folder, database, schema or ()))
    from joinery.cli.init import run_init

    raise typer.Exit(run_init(folder))


@commands.command(rich_help_panel=PANEL)
def check(
    file: File = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Report all problems of a project at once."""
    from joinery.cli.check import run_check

    raise typer.Exit(run_check(file, as_json=as_json))


@commands.command(rich_help_panel=PANEL)
def explain(
    file: File = DEFAULT,
    product: Products = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print Mermaid flowcharts.")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with diagrams to FILE."),
    ] = None,
    solution: Annotated[
        str | None,
        typer.Option("--solution", metavar="S", help="Explain this solution."),
    ] = None,
    database: Annotated[
        str,
        typer.Option(
            "--database",
            metavar="URL",
            help="With rdbms-trigger: show the query plans of its statements.",
        ),
    ] = "",
    kernel: Annotated[
        bool, typer.Option("--kernel", help="Also show the program that Spark runs.")
    ] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Also show how each lookup of a stream runs, and why.")
    ] = False,
) -> None:
    """Show how the products and streams of a project are put together."""
    from joinery.cli.explain import ExplainArguments, run_explain

    arguments = ExplainArguments(product or (), mermaid, html, solution, database, kernel, why)
    raise typer.Exit(run_explain(file, arguments))


@commands.command(rich_help_panel=PANEL)
def preview(
    name: Annotated[
        str,
        typer.Argument(
            metavar="PRODUCT", help="A product or stream; optional if there is only one."
        ),
    ] = "",
    file: File = DEFAULT,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="KEY", help="Only the document with this key; repeatable."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", help="Maximum number of documents to show.")
    ] = 20,
    records: Annotated[
        int,
        typer.Option("--records", help="Maximum number of records to read from each topic."),
    ] = 50_000,
    until_closed: Annotated[
        bool, typer.Option("--until-closed", help="Also show windows that are still open.")
    ] = False,
    as_of: Annotated[
        str,
        typer.Option(
            "--as-of",
            metavar="TIME|POSITION",
            help="Show documents as of the time that records were written, a position of the"
            " database, or a record such as orders/1.jsonl/7.",
        ),
    ] = "",
) -> None:
    """Show the documents that change files or topics produce, without Spark; nothing is written."""
    from joinery.cli.preview import PreviewArguments, run_preview

    if file == DEFAULT and names_a_project(name):
        name, file = "", Path(name)
    arguments = PreviewArguments(name, file, tuple(key or ()), limit, records, until_closed, as_of)
    raise typer.Exit(run_preview(arguments))


@commands.command("test", rich_help_panel=PANEL)
def run_cases(
    file: File = DEFAULT,
    name: Annotated[
        str, typer.Option("-k", metavar="TEXT", help="Only cases whose names contain TEXT.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Run the cases of tests/*.yaml beside the project file, without Spark."""
    from joinery.cli.test import CaseArguments, run_tests

    raise typer.Exit(run_tests(CaseArguments(file, name, as_json)))


@commands.command(rich_help_panel=PANEL)
def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="Where to run; a new temporary folder by default.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the generated history.")] = 7,
    real: Annotated[
        bool, typer.Option("--real", help="Straight from PostgreSQL into OpenSearch.")
    ] = False,
    kafka: Annotated[
        bool, typer.Option("--kafka", help="With --real: through Debezium and Kafka.")
    ] = False,
    rate: Annotated[float, typer.Option("--rate", help="With --real: commits per second.")] = 30.0,
    seconds: Annotated[
        float, typer.Option("--seconds", help="With --real: how long to run; 0 means until Ctrl-C.")
    ] = 60.0,
) -> None:
    """Watch documents appear and change while a code-hosting history grows."""
    from joinery.cli.demo import run_demo
    from joinery.cli.real import RealOptions

    chosen = RealOptions(rate=rate, seconds=seconds, seed=seed, kafka=kafka) if real else None
    raise typer.Exit(run_demo(folder, seed=seed, real=chosen))


@commands.command(rich_help_panel=PANEL)
def schema() -> None:
    """Print the JSON Schema of project files, for completion in editors."""
    from joinery.project.schema import schema_text

    sys.stdout.write(schema_text())


@table.callback()
def tables() -> None:
    """Add source tables to a project file."""


@table.command()
def add(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="postgresql://… or mysql://…, registry:URL#subject, or topic:name.",
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="TABLE", help="Tables of a database: table or schema.table."),
    ] = None,
    file: Annotated[Path, typer.Option("--file", "-f", help="The project file.")] = DEFAULT,
    topic: Annotated[
        str | None,
        typer.Option(help="The topic of its messages, such as shop.{schema}.{table}."),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(metavar="PRODUCT", help="Embed it in this product, by its foreign key."),
    ] = None,
    embed_as: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="The name of the embed.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The relation's name; the table's by default.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="A,B", help="Its key columns, if the table has no key.")
    ] = None,
    from_source: Annotated[
        str | None,
        typer.Option(
            "--source", metavar="NAME", help="Which of the project's sources it is read from."
        ),
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="The format of its messages.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the result without writing it.")
    ] = False,
) -> None:
    """Add the relations of tables to the project, and suggest where to embed them."""
    from joinery.cli.table import AddArguments, run_add
    from joinery.project.onboard import TableChoices

    choices = TableChoices(
        name=name,
        topic=topic,
        source=from_source,
        format=format_,
        key=tuple(each.strip() for each in key.split(",")) if key else (),
    )
    arguments = AddArguments(
        source=source,
        names=names or (),
        file=file,
        choices=choices,
        into=into,
        embed_as=embed_as,
        write=not dry_run,
    )
    raise typer.Exit(run_add(arguments))
