"""`joinery listen`: documents from the queue of `rdbms-trigger`, without Spark."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from joinery.cli.ending import DONE
from joinery.cli.project import analyser, standing_name
from joinery.delivery.outlet import DirectOutlet, Outlet
from joinery.delivery.query_paths import QueryPaths
from joinery.errors import SpecError
from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.sinks.protocol import make_sink
from joinery.solutions.trigger.listen import Listener, PatientListener, Published
from joinery.solutions.trigger.open import open_listener
from joinery.solutions.trigger.options import TriggerOptions
from joinery.spark.batch.stores import owner_of

_WAIT_S = 1.0


class ListenError(SpecError):
    """The project has nothing to listen for."""

    code = "LISTEN"


def run_listen(file: Path, *, products: Sequence[str], once: bool) -> int:
    """Publish what is queued, and, unless `once`, what will be until a signal ends it."""
    spec = load_spec(file)
    with analyser() as spark:
        plan = build_plan(spec, spark)
    queries = _queries(plan.products, products)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with ExitStack() as opened:
        listeners = []
        for query, members in queries.items():
            make = partial(_listener, spec, members)
            listener = PatientListener(make, query, ended=ended.is_set)
            opened.callback(listener.close)
            listeners.append(listener)
        _publish(listeners, ended, once=once)
    return DONE


def _publish(listeners: Sequence[PatientListener], ended: threading.Event, *, once: bool) -> None:
    while not ended.is_set():
        told = [published for each in listeners if (published := each.publish()) is not None]
        for published in told:
            _tell(published)
        if not told and once:
            return
        if not told:
            for each in listeners:
                each.wait(_WAIT_S / len(listeners))


def _tell(published: Published) -> None:
    for name, count in published.documents.items():
        sys.stdout.write(f"{name}: {count} documents\n")
    for name, count in published.dead.items():
        sys.stdout.write(f"{name}: {count} documents kept back, see the log\n")
    sys.stdout.flush()


def _queries(known: Sequence[Product], names: Sequence[str]) -> Mapping[str, Sequence[Product]]:
    queued = [each for each in known if (options := TriggerOptions.of(each)) and options.queued]
    for name in names:
        if name not in [each.name for each in queued]:
            raise ListenError(
                f'product "{name}" is not published from a queue',
                hint="Write publish: queue in the options of rdbms-trigger.",
            )
    if not queued:
        raise ListenError(
            "no product of the project is published from a queue",
            hint="Write publish: queue in the options of rdbms-trigger.",
        )
    chosen = {each.query for each in queued if not names or each.name in names}
    found = {query: [each for each in queued if each.query == query] for query in sorted(chosen)}
    for each in (one for members in found.values() for one in members):
        if each.settle_ms is not None or each.ready:
            key = "ready" if each.ready else "emit: settle"
            raise ListenError(
                f'product "{each.name}" has {key}, and joinery listen holds no document back',
                hint=f"Leave out {key}; or leave out publish: queue, and the run publishes.",
            )
    return found


def _listener(spec: ProjectSpec, products: Sequence[Product]) -> Listener:
    limit = spec.run.max_document_bytes
    options = TriggerOptions.of(products[0])
    assert options is not None  # chosen by them
    query = products[0].query
    checkpoint = QueryPaths.of(spec.checkpoint, query).on_disk("joinery listen")
    outlets = {each.name: _outlet(spec, each) for each in products}
    try:
        for outlet in outlets.values():
            outlet.open()
        return open_listener(
            products,
            options,
            outlets,
            name=standing_name(spec, query),
            owner=owner_of(spec, checkpoint),
            max_document_bytes=limit,
        )
    except BaseException:
        for outlet in outlets.values():
            outlet.close()
        raise


def _outlet(spec: ProjectSpec, product: Product) -> Outlet:
    folder = spec.path_of(".")
    sinks = [make_sink(e.kind, product.name, dict(e.options), folder) for e in product.sinks]
    return DirectOutlet(sinks)
