"""The command `joinery`: its arguments, and what becomes of errors."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from joinery import __version__
from joinery.cli.dev import dev
from joinery.cli.dlq import dlq
from joinery.cli.report import DONE, FAILED, tell_error
from joinery.cli.table import table
from joinery.errors import JoineryError

_DEFAULT = Path("joinery.yaml")
_HELP = "Keep nested documents up to date from the change streams of operational tables."

app = typer.Typer(
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(dev, name="dev")
app.add_typer(dlq, name="dlq")
app.add_typer(table, name="table")
File = Annotated[Path, typer.Argument(help="The project file, or a folder of them.")]
Products = Annotated[
    list[str] | None, typer.Option("--product", metavar="P", help="Only this product; repeat.")
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
def init(
    folder: Annotated[Path, typer.Argument(help="Where the project is written.")] = Path(),
) -> None:
    """Write a small project with change files, ready to run."""
    from joinery.cli.init import run_init

    raise typer.Exit(run_init(folder))


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
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a Mermaid flowchart.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Into one self-contained page.")
    ] = None,
    solution: Annotated[
        str | None, typer.Option("--solution", metavar="S", help="How join state is kept.")
    ] = None,
    database: Annotated[
        str, typer.Option("--database", metavar="URL", help="Ask it for plans of statements.")
    ] = "",
) -> None:
    """Show how the products of a project are put together."""
    from joinery.cli.explain import ExplainArguments, run_explain

    arguments = ExplainArguments(product or (), mermaid, html, solution, database)
    raise typer.Exit(run_explain(file, arguments))


@app.command()
def run(
    file: File = _DEFAULT,
    once: Annotated[bool, typer.Option("--once", help="Read what there is, then end.")] = False,
    product: Products = None,
    solution: Annotated[
        str | None, typer.Option("--solution", metavar="S", help="How join state is kept.")
    ] = None,
    real_time: Annotated[bool, typer.Option("--real-time", help="A change at a time.")] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Read all anew beside what runs, then replace it.")
    ] = False,
    bootstrap_from: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-from",
            metavar="source|checkpoint",
            help="With --solution: build its state from there, beside, then swap.",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace a setting of the file; repeat."),
    ] = None,
    master: Annotated[
        str | None, typer.Option("--master", metavar="M", help="Spark's master.")
    ] = None,
) -> None:
    """Run a project: keep its documents up to date."""
    from joinery.cli.run import RunArguments, run_project

    arguments = RunArguments(
        file=file,
        once=once,
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
    """Publish what a database's queue of changed rows alters, whoever wrote them."""
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
        int, typer.Option("--changes", help="About so many are read from the sources.")
    ] = 100_000,
    rows: Annotated[int, typer.Option("--rows", help="So many a batch.")] = 20_000,
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
