"""The command `joinery`: its arguments, and what becomes of errors.

Commands that the published interface names, and that are not built yet.

Invariant: none of them is a command; one that is built leaves the list.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from joinery import __version__
from joinery.cli.dev import dev
from joinery.cli.dlq import dlq
from joinery.cli.project import DONE, FAILED, tell_error
from joinery.errors import JoineryError, SpecError

NOT_YET = (
    "apply",
    "backfill",
    "contract",
    "diff",
    "erase",
    "plan",
    "ui",
    "wait",
    "why",
)


class NotYetError(SpecError):
    """A command, or a part of the interface, that is specified and not built."""

    code = "SPEC_NOT_YET"


class Commands(TyperGroup):
    """The commands of `joinery`, which knows those that are still to come."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that arguments name; refuse one that is not built yet."""
        if args and args[0] in NOT_YET:
            raise NotYetError(
                f"joinery {args[0]} is specified, and not built yet",
                hint="joinery --help lists what there is.",
            )
        return super().resolve_command(ctx, args)


_DEFAULT = Path("joinery.yaml")
_HELP = "Keep nested documents up to date from the change streams of operational tables."

app = typer.Typer(
    cls=Commands,
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(dev, name="dev")
app.add_typer(dlq, name="dlq")
table = typer.Typer(no_args_is_help=True, help="Add source tables to a project file.")
app.add_typer(table, name="table")
File = Annotated[Path, typer.Argument(help="The project file, or a folder of them.")]
ProjectFile = Annotated[
    Path, typer.Option("--file", metavar="FILE", help="The project file, or a folder of them.")
]
Products = Annotated[
    list[str] | None,
    typer.Option("--product", metavar="P", help="Only this product or stream; repeat."),
]


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"joinery {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show stack traces.")] = False,
) -> None:
    """Keep nested documents up to date from the change streams of operational tables."""


@app.command()
def status(
    product: Annotated[
        list[str] | None, typer.Argument(metavar="[P]...", help="Only these products and streams.")
    ] = None,
    file: ProjectFile = _DEFAULT,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 3 where something wants attention.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON value.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Also those that want nothing.")] = False,
) -> None:
    """Show how the products of a project stand: fresh, behind, waiting, failed, and why."""
    from joinery.cli.status import run_status

    names = product or ()
    raise typer.Exit(run_status(file, names, as_json=as_json, check=check, every=every))


@app.command()
def top(
    product: Annotated[
        list[str] | None, typer.Argument(metavar="[P]...", help="Only these products and streams.")
    ] = None,
    file: ProjectFile = _DEFAULT,
) -> None:
    """Show the same, drawn again each second; Ctrl-C ends it."""
    from joinery.cli.status import run_top

    raise typer.Exit(run_top(file, product or ()))


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where the project is written.")] = Path(),
) -> None:
    """Write a small project with change files, ready to run."""
    from joinery.cli.init import run_init

    raise typer.Exit(run_init(folder))


@app.command()
def schema() -> None:
    """Print the JSON Schema of project files, which lets editors complete them."""
    from joinery.project.schema import schema_text

    sys.stdout.write(schema_text())


@app.command()
def check(
    file: File = _DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False,
) -> None:
    """Report every problem of a project at once."""
    from joinery.cli.check import run_check

    raise typer.Exit(run_check(file, as_json=as_json))


@app.command()
def explain(
    file: File = _DEFAULT,
    product: Products = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print Mermaid flowcharts.")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Into FILE, one page with pictures."),
    ] = None,
    solution: Annotated[
        str | None,
        typer.Option("--solution", metavar="S", help="The solution: how join state is kept."),
    ] = None,
    database: Annotated[
        str,
        typer.Option(
            "--database",
            metavar="URL",
            help="With rdbms-trigger: show the plans of its statements.",
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


@app.command()
def run(
    file: File = _DEFAULT,
    once: Annotated[bool, typer.Option("--once", help="Read what there is, then end.")] = False,
    until_closed: Annotated[
        bool,
        typer.Option(
            "--until-closed",
            help="With --once: at the end, send the windows that are still open, too.",
        ),
    ] = False,
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait",
            metavar="TIME",
            help="With --once: fail when a target is away for TIME, such as 5m.",
        ),
    ] = None,
    product: Products = None,
    solution: Annotated[
        str | None,
        typer.Option("--solution", metavar="S", help="The solution: how join state is kept."),
    ] = None,
    real_time: Annotated[
        bool,
        typer.Option("--real-time", help="Use Spark's real-time mode instead of micro-batches."),
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Read all sources again beside the running query, then switch over.",
        ),
    ] = False,
    bootstrap_from: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-from",
            metavar="source|checkpoint",
            help="With --solution: where its state comes from: source reads the sources again,"
            " checkpoint copies the state that is there.",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace a setting of the file; repeat."),
    ] = None,
    master: Annotated[
        str | None, typer.Option("--master", metavar="M", help="Spark's master, such as local[4].")
    ] = None,
) -> None:
    """Run a project: keep its documents up to date."""
    from joinery.cli.run import RunArguments, run_project

    arguments = RunArguments(
        file=file,
        once=once,
        until_closed=until_closed,
        wait=wait,
        products=tuple(product or ()),
        solution=solution,
        real_time=real_time,
        rebuild=rebuild or bootstrap_from == "source",
        bootstrap_from=bootstrap_from,
        settings=tuple(setting or ()),
        master=master,
    )
    raise typer.Exit(run_project(arguments))


@app.command()
def listen(
    file: File = _DEFAULT,
    once: Annotated[bool, typer.Option("--once", help="Publish what is queued, then end.")] = False,
    product: Products = None,
) -> None:
    """Publish the documents that a PostgreSQL queue of changed rows affects (rdbms-trigger)."""
    from joinery.cli.listen import run_listen

    raise typer.Exit(run_listen(file, products=product or (), once=once))


@app.command()
def solutions(
    file: File = _DEFAULT,
    product: Products = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--solution", metavar="S", help="Measure this one; repeat."),
    ] = None,
    changes: Annotated[
        int, typer.Option("--changes", help="Approximate number of changes to read.")
    ] = 100_000,
    rows: Annotated[int, typer.Option("--rows", help="Rows per batch.")] = 20_000,
    prices: Annotated[
        Path | None, typer.Option("--prices", metavar="FILE", help="A price list of your own.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False,
) -> None:
    """Measure the ways to keep join state, on the project's own changes."""
    from joinery.cli.solutions import SolutionsArguments, compare_solutions

    arguments = SolutionsArguments(
        file=file,
        products=tuple(product or ()),
        only=tuple(only or ()),
        changes=changes,
        rows=rows,
        prices=prices,
        as_json=as_json,
    )
    raise typer.Exit(compare_solutions(arguments))


@app.command()
def preview(
    name: Annotated[
        str, typer.Argument(metavar="PRODUCT", help="A product or stream; the only one by default.")
    ] = "",
    file: File = _DEFAULT,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="KEY", help="Only the document of this key; repeat."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", help="The most documents to show.")] = 20,
    records: Annotated[
        int,
        typer.Option("--records", help="The most records to read of a topic, from its beginning."),
    ] = 50_000,
    until_closed: Annotated[
        bool, typer.Option("--until-closed", help="Show windows that are still open, too.")
    ] = False,
) -> None:
    """Show the documents of the change files, without Spark; nothing is written."""
    from joinery.cli.preview import PreviewArguments, run_preview

    arguments = PreviewArguments(name, file, tuple(key or ()), limit, records, until_closed)
    raise typer.Exit(run_preview(arguments))


@app.command("test")
def run_cases(
    file: File = _DEFAULT,
    name: Annotated[
        str, typer.Option("-k", metavar="TEXT", help="Only cases with this in their name.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False,
) -> None:
    """Run the cases of tests/*.yaml beside the project file, without Spark."""
    from joinery.cli.test import CaseArguments, run_tests

    raise typer.Exit(run_tests(CaseArguments(file, name, as_json)))


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="Where it runs; by default a new temporary folder.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Another seed, another history.")] = 7,
    real: Annotated[
        bool, typer.Option("--real", help="On PostgreSQL, Debezium, Kafka and OpenSearch.")
    ] = False,
    rate: Annotated[float, typer.Option("--rate", help="With --real: commits a second.")] = 30.0,
    seconds: Annotated[
        float, typer.Option("--seconds", help="With --real: how long; 0 until Ctrl-C.")
    ] = 60.0,
) -> None:
    """Watch documents appear and change while a code-hosting history grows."""
    from joinery.cli.demo import run_demo
    from joinery.cli.real import RealOptions

    chosen = RealOptions(rate=rate, seconds=seconds, seed=seed) if real else None
    raise typer.Exit(run_demo(folder, seed=seed, real=chosen))


@table.callback()
def tables() -> None:
    """Add source tables to a project file."""


@table.command()
def add(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="postgresql://… of the database, registry:URL#subject, or topic:name.",
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE]...", help="Of a database: table or schema.table."),
    ] = None,
    file: Annotated[Path, typer.Option("--file", "-f", help="The project.")] = _DEFAULT,
    topic: Annotated[
        str | None,
        typer.Option(help="Where its messages are, such as shop.{schema}.{table}."),
    ] = None,
    into: Annotated[
        str | None, typer.Option(metavar="PRODUCT", help="Embed it there, by its foreign key.")
    ] = None,
    embed_as: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="The name of the embed.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The relation's name; by default the table's.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="A,B", help="Its key, where the table has none.")
    ] = None,
    from_source: Annotated[
        str | None, typer.Option("--source", metavar="NAME", help="The project's source.")
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="What its messages are written in.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show it, write nothing.")] = False,
) -> None:
    """Write the relations of tables into the project, and suggest where they embed."""
    from joinery.cli.table import AddArguments, run_add
    from joinery.project.onboard import Wish

    wish = Wish(
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
        wish=wish,
        into=into,
        embed_as=embed_as,
        write=not dry_run,
    )
    raise typer.Exit(run_add(arguments))


def main() -> None:
    """Run the command line and exit with its code."""
    debug = "--debug" in sys.argv
    arguments = [each for each in sys.argv[1:] if each != "--debug"]
    try:
        app(arguments, prog_name="joinery")
    except JoineryError as error:
        if debug:
            raise
        sys.exit(tell_error(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(DONE)
    except KeyboardInterrupt:
        sys.exit(FAILED)
    except Exception as error:
        if debug:
            raise
        sys.stderr.write(
            f"error: {type(error).__name__}: {' '.join(str(error).split())[:300]}."
            " This is a defect of joinery; --debug shows where. [INTERNAL]\n"
        )
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
