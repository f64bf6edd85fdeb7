"""The commands of who operates runs: how they stand, why, whether it is right, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from joinery.cli.argument import DEFAULT, ProjectFile, names_a_project
from joinery.cli.status_arguments import SINCE

commands = typer.Typer()
PANEL = "Operate"


@commands.command(rich_help_panel=PANEL)
def status(
    product: Annotated[
        list[str] | None, typer.Argument(metavar="P", help="Only these products and streams.")
    ] = None,
    file: ProjectFile = DEFAULT,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 3 if something needs attention.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Show more than the first twenty.")] = False,
    actions: Annotated[
        bool, typer.Option("--actions", help="Show what people did, the newest first.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Show what products did, up to a week ago.")
    ] = False,
    since: Annotated[
        str, typer.Option("--since", help="With --history: how far back.", metavar="SPAN")
    ] = SINCE,
) -> None:
    """Show the state of products: live, behind, waiting, failed, and why."""
    from joinery.cli.status import run_status
    from joinery.cli.status_arguments import StatusArguments

    asked = StatusArguments(
        products=tuple(product or ()),
        file=file,
        check=check,
        as_json=as_json,
        every=every,
        actions=actions,
        history=history,
        since=since,
    )
    raise typer.Exit(run_status(asked))


@commands.command(rich_help_panel=PANEL)
def top(
    product: Annotated[
        list[str] | None, typer.Argument(metavar="P", help="Only these products and streams.")
    ] = None,
    file: ProjectFile = DEFAULT,
) -> None:
    """Show the state of products, refreshed every second; Ctrl-C ends it."""
    from joinery.cli.status import run_top

    raise typer.Exit(run_top(file, product or ()))


@commands.command(rich_help_panel=PANEL)
def ui(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Project files, or folders of such files."),
    ] = None,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="The address to serve on.")
    ] = "127.0.0.1:9465",
    actions: Annotated[
        bool,
        typer.Option("--actions", help="Let holders of the token pause, resume, replay and drop."),
    ] = False,
    token: Annotated[
        str,
        typer.Option(
            "--token",
            metavar="TEXT",
            envvar="JOINERY_UI_TOKEN",
            help="With --actions: the token; generated and shown once if omitted.",
        ),
    ] = "",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="With --actions: accept other machines, too.")
    ] = False,
    asking: Annotated[
        bool,
        typer.Option("--why", help="Let the page answer why a document looks the way it does."),
    ] = False,
) -> None:
    """Serve a page with all products of one or more projects; read-only without --actions."""
    from joinery.cli.ui import ActionAccess, run_ui

    acting = ActionAccess(token=token, remote=allow_remote) if actions else None
    raise typer.Exit(run_ui(files or [DEFAULT], listen, acting, asking=asking))


Paused = Annotated[list[str], typer.Argument(metavar="P", help="Products and streams.")]
HowLong = Annotated[str, typer.Option("--timeout", help="How long to wait for the run.")]
Why = Annotated[
    str, typer.Option("--why", metavar="TEXT", help="The reason, kept with who and when.")
]


# What is not taken is refused here, with what takes it.
@commands.command(rich_help_panel=PANEL, context_settings={"allow_extra_args": True})
def why(
    context: typer.Context,
    key: Annotated[
        str, typer.Argument(help="The document's key; commas separate its columns.")
    ] = "",
    file: ProjectFile = DEFAULT,
    product: Annotated[
        str,
        typer.Option("--product", metavar="P", help="The product; optional if there is only one."),
    ] = "",
    absent: Annotated[
        str, typer.Option("--not", metavar="REL:KEY", help="Explain why this row is not in it.")
    ] = "",
    row: Annotated[
        str,
        typer.Option("--row", metavar="REL:KEY", help="Show which documents this row goes into."),
    ] = "",
    at: Annotated[
        str, typer.Option("--at", metavar="MOMENT", help="Show it as of a time or a position.")
    ] = "",
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", min=0, help="Show it as of batch N of its run."),
    ] = None,
    state: Annotated[
        bool,
        typer.Option("--state", help="Show it as the run's state has it, compared with the logs."),
    ] = False,
    records: Annotated[
        int,
        typer.Option("--records", min=1, help="Maximum number of records to read from each topic."),
    ] = 1_000_000,
    every: Annotated[bool, typer.Option("--all", help="Show all rows, however many.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain why a document looks the way it does: its rows, its last change, what is missing."""
    from joinery.spark.jar import known_kafka_client
    from joinery.spark.source.search_process import search_process

    if context.args:
        from joinery.cli.why import refuse_arguments

        refuse_arguments(context.args)
    if state:
        from joinery.cli.why import run_state

        options = {"--row": row, "--not": absent, "--at": at, "--all": every}
        given = [name for name, value in options.items() if value]
        raise typer.Exit(
            run_state(file, key, product, given, batch=batch, records=records, as_json=as_json)
        )
    with search_process(known_kafka_client()) as process:  # starts while the rest is imported
        from joinery.cli.why import run_why

        done = run_why(
            file,
            key,
            product,
            absent=absent,
            row=row,
            at=at,
            batch=batch,
            records=records,
            as_json=as_json,
            every=every,
            process=process,
        )
    raise typer.Exit(done)


@commands.command(rich_help_panel=PANEL)
def state(
    product: Annotated[
        str, typer.Argument(metavar="PRODUCT", help="A product; optional if there is only one.")
    ] = "",
    file: ProjectFile = DEFAULT,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Only documents whose keys begin with this."),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", min=0, help="Show them as of batch N of their run."),
    ] = None,
    sample: Annotated[
        str,
        typer.Option("--sample", metavar="1%", help="Show a share of them, the same each time."),
    ] = "",
    rows: Annotated[
        bool, typer.Option("--rows", help="Show the rows of the document of --key instead.")
    ] = False,
    sizes: Annotated[
        bool, typer.Option("--sizes", help="Show how much each node of the query keeps instead.")
    ] = False,
) -> None:
    """Print all documents as the run's state has them, as JSON lines; beside a run, or without."""
    from joinery.cli.state import run_state_documents, run_state_rows, run_state_sizes

    if file == DEFAULT and names_a_project(product):
        product, file = "", Path(product)
    if sizes:
        if key is not None or sample or rows:
            raise typer.BadParameter("--sizes does not go with --key, --sample or --rows")
        raise typer.Exit(run_state_sizes(file, product, batch=batch))
    if not rows:
        raise typer.Exit(run_state_documents(file, product, key, batch=batch, sample=sample))
    if key is None or sample:
        raise typer.BadParameter("--rows needs --key, and does not go with --sample")
    raise typer.Exit(run_state_rows(file, product, key, batch=batch))


@commands.command(rich_help_panel=PANEL)
def touch(
    key: Annotated[
        str, typer.Argument(help="What the documents' keys begin with; commas separate columns.")
    ] = "",
    file: ProjectFile = DEFAULT,
    product: Annotated[
        str,
        typer.Option("--product", metavar="P", help="The product; optional if there is only one."),
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="All documents of the product.")] = False,
    timeout: HowLong = "1m",
) -> None:
    """Send documents again under higher versions, as after somebody altered them in a sink."""
    from joinery.cli.touch import run_touch

    raise typer.Exit(run_touch(file, key, product, every=every, timeout=timeout))


@commands.command(rich_help_panel=PANEL)
def mark(
    product: Annotated[
        list[str] | None, typer.Argument(metavar="P", help="Only the queries of these products.")
    ] = None,
    file: ProjectFile = DEFAULT,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            min=1,
            help="How many marks of a query are kept; by default as run.marks says, or 24.",
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List marks and their bytes; make none.")
    ] = False,
) -> None:
    """Keep the state of the last batch readable, beyond the hundred batches a checkpoint keeps."""
    from joinery.cli.mark import run_mark

    raise typer.Exit(run_mark(file, product or (), keep=keep, listed=listed))


# What is not taken is refused here, with the option that takes it.
@commands.command(rich_help_panel=PANEL, context_settings={"allow_extra_args": True})
def diff(
    context: typer.Context,
    file: ProjectFile = DEFAULT,
    product: Annotated[
        list[str] | None,
        typer.Option("--product", metavar="P", help="Only this product; repeatable."),
    ] = None,
    database: Annotated[
        str,
        typer.Option("--database", metavar="URL", help="The database, or a standby of it."),
    ] = "",
    sample: Annotated[
        str, typer.Option("--sample", metavar="1%", help="Compare a share of the documents.")
    ] = "",
    rate: Annotated[
        str, typer.Option("--rate", metavar="100/s", help="Maximum number of documents per second.")
    ] = "",
    resume_it: Annotated[
        bool, typer.Option("--resume", help="Resume a comparison that was interrupted.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Have the correct documents sent again.")
    ] = False,
    timeout: Annotated[
        str, typer.Option("--wait", help="How long to wait for the run to catch up.")
    ] = "1m",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare documents in sinks with the database; exit with 3 if they differ."""
    from joinery.cli.diff import refuse_arguments, run_diff

    refuse_arguments(context.args)
    raise typer.Exit(
        run_diff(
            file,
            product or (),
            database=database,
            sample=sample,
            rate=rate,
            resume=resume_it,
            repair=repair,
            wait=timeout,
            as_json=as_json,
        )
    )


@commands.command(rich_help_panel=PANEL)
def wait(
    product: Annotated[str, typer.Option("--product", metavar="P", help="The product or stream.")],
    position: Annotated[
        list[str],
        typer.Option(
            "--position",
            metavar="X",
            help="TOPIC/PARTITION/OFFSET, or for files TOPIC/FILE/LINE or TOPIC/FILE; of a postgres"
            " source, or one that names its connector, a place in the database's log: 0/16B3748."
            " Repeatable.",
        ),
    ],
    file: ProjectFile = DEFAULT,
    timeout: Annotated[str, typer.Option("--timeout", help="How long to wait at most.")] = "1m",
) -> None:
    """Wait until all sinks of a product show what was written to the logs."""
    from joinery.cli.wait import run_wait

    raise typer.Exit(run_wait(file, product, position, timeout))


@commands.command(rich_help_panel=PANEL)
def pause(
    product: Paused, file: ProjectFile = DEFAULT, why: Why = "", timeout: HowLong = "1m"
) -> None:
    """Pause products after the current batch; they stay paused in later runs."""
    from joinery.cli.pause import run_pause

    raise typer.Exit(run_pause(file, product, "pause", why=why, timeout=timeout))


@commands.command(rich_help_panel=PANEL)
def resume(
    product: Paused, file: ProjectFile = DEFAULT, why: Why = "", timeout: HowLong = "1m"
) -> None:
    """Resume paused products where they stopped."""
    from joinery.cli.pause import run_pause

    raise typer.Exit(run_pause(file, product, "resume", why=why, timeout=timeout))


@commands.command(rich_help_panel=PANEL)
def erase(
    relation: Annotated[
        str, typer.Argument(metavar="RELATION", help="The relation of the person's row.")
    ],
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the person's row.")],
    file: ProjectFile = DEFAULT,
    prove: Annotated[
        bool, typer.Option("--prove", help="Erase nothing; search for what is still readable.")
    ] = False,
    value: Annotated[
        str, typer.Option("--value", metavar="TEXT", help="With --prove: the value to look for.")
    ] = "",
) -> None:
    """Destroy the key to a person's data for good, and send the documents again."""
    from joinery.cli.erase import run_erase

    raise typer.Exit(run_erase(file, relation, key, prove=prove, value=value))
