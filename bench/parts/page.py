"""How fast the page of all products and `joinery status` are, over status files of many products.

    python -m bench.parts.page [--products 100] [--browser /usr/bin/chromium --playwright PYTHON]

The files are what a run of ten groups writes, with every tenth product behind. It prints JSON:
the median and the worst of 20 requests to the server, the bytes that are transferred, and of
`joinery status` as a process the first, which reads the project file, and the median of six more.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import Request, urlopen

from joinery.delivery.lease import Lease
from joinery.delivery.query_paths import QueryPaths
from joinery.model.status import LastBatch, ProductTotals, QueryStatus
from joinery.project.load import load_spec

GROUPS = 10
PAINT = """
import json, sys
from playwright.sync_api import sync_playwright
with sync_playwright() as browsers:
    browser = browsers.chromium.launch(
        executable_path=sys.argv[1], args=["--no-sandbox", "--disable-gpu"]
    )
    found = []
    for _ in range(7):
        page = browser.new_context().new_page()
        asked = []
        page.on("request", lambda each: asked.append(each.url))
        page.goto(sys.argv[2], wait_until="load")
        paint = None
        while paint is None:
            page.wait_for_timeout(20)
            paint = page.evaluate(
                "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
            )
        found.append(paint)
    hosts = sorted({each.split("/")[2] for each in asked})
    print(json.dumps({"first_paint_ms": sorted(round(each) for each in found),
                      "requests": len(asked), "hosts": hosts}))
"""


def lay_out(folder: Path, count: int) -> Path:
    """Write a project of `count` products, and what its run tells."""
    names = [f"product_{number:03}" for number in range(count)]
    products = "".join(
        f"  {name}: {{root: customer, group: g{number % GROUPS}, expect: {{fresh: 30s}},"
        " embed: {orders: {many: orders, on: {customer_id: id}, fields: [id, total]}},"
        " sink: {files: {path: out}}}\n"
        for number, name in enumerate(names)
    )
    file = folder / "joinery.yaml"
    file.write_text(
        "name: fleet\nsources: {changes: {files: {path: data}}}\nrelations:\n"
        "  customer: {key: [id], fields: {id: long, name: string}}\n"
        "  orders: {key: [id], fields: {id: long, customer_id: long, total: double}}\n"
        f"products:\n{products}",
        encoding="utf-8",
    )
    spec, now = load_spec(file), time.time()
    batches = tuple(
        LastBatch(
            number=900 - each,
            ended_at=now - each,
            seconds=0.4,
            rows=5000,
            durations_ms={"stage": 300, "sinks": 40, "triggerExecution": 400},
        )
        for each in range(20)
    )
    for number in range(GROUPS):
        query = f"g{number}"
        paths = QueryPaths.of(spec.path_of(spec.run.checkpoint), query)
        Lease(paths.lease_file, query).take()
        status = QueryStatus(
            query=query,
            state="running",
            began_at=now - 9000,
            written_at=now,
            caught_up=number != 0,
            caught_up_at=now - (500 if number == 0 else 0),
            batch=batches[0],
            batches=batches,
            rows_left={"orders": 310_022 if number == 0 else 0},
            state_bytes=2_140_000_000,
            products={
                name: ProductTotals(
                    relations=("customer", "orders"),
                    targets=("files out",),
                    documents=1_200_000,
                    per_second=812.5,
                    age_ms=640,
                )
                for name in names[number::GROUPS]
            },
        )
        paths.status_file.parent.mkdir(parents=True, exist_ok=True)
        paths.status_file.write_text(json.dumps(status.to_json()), encoding="utf-8")
    return file


def timed(address: str, times: int) -> tuple[list[float], int]:
    """Return how long requests took, in milliseconds, and the bytes of one answer."""
    took, size = [], 0
    for _ in range(times):
        began = time.perf_counter()
        request = Request(address, headers={"Accept-Encoding": "gzip"})
        with urlopen(request) as answer:
            body = answer.read()
        took.append((time.perf_counter() - began) * 1000)
        size = len(body)
        assert gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    return took, size


def painted_in(playwright: str, browser: str, address: str) -> dict[str, object]:
    """Return when a browser first paints the page, with nothing in its cache."""
    command = [playwright, "-c", PAINT, browser, address]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    """Measure, and print what was found."""
    arguments = argparse.ArgumentParser(prog="python -m bench.parts.page", description=__doc__)
    arguments.add_argument("--products", type=int, default=100)
    arguments.add_argument("--browser", default="")
    arguments.add_argument("--playwright", default=sys.executable)
    asked = arguments.parse_args()
    joinery = str(Path(sys.executable).with_name("joinery"))
    with tempfile.TemporaryDirectory() as folder:
        file = lay_out(Path(folder), asked.products)
        env = {**os.environ, "JOINERY_CACHE": str(Path(folder) / "cache")}
        status = []
        for _ in range(7):
            began = time.perf_counter()
            command = [joinery, "status", "--file", str(file)]
            subprocess.run(command, check=True, capture_output=True, env=env)
            status.append((time.perf_counter() - began) * 1000)
        command = [joinery, "ui", str(file), "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[0]
            first, _ = timed(address, 1)
            took, size = timed(address, 20)
            static = [timed(f"{address}static/{name}", 1)[1] for name in ("page.css", "live.js")]
            painted = painted_in(asked.playwright, asked.browser, address) if asked.browser else {}
        finally:
            server.terminate()
            server.wait()
    found = {
        "products": asked.products,
        "status_first_ms": round(status[0]),
        "status_median_ms": round(statistics.median(status[1:])),
        "page_first_ms": round(first[0]),
        "page_median_ms": round(statistics.median(took)),
        "page_worst_ms": round(max(took)),
        "transferred_bytes": size + sum(static),
        **painted,
    }
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
