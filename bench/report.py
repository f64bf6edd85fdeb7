"""Results as a page: the machine, the versions, and a table with ratios."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
Result = Mapping[str, Any]


def machine(versions: Sequence[str]) -> dict[str, Any]:
    """Say what the figures were measured on."""
    cpu = re.search(r"model name\s*:\s*(.+)", _read("/proc/cpuinfo"))
    memory = re.search(r"MemTotal:\s*(\d+)", _read("/proc/meminfo"))
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    return {
        "processor": cpu[1].strip() if cpu else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory[1]) / 2**20) if memory else None,
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(),
        "java": java.stderr.splitlines()[0] if java.stderr else "",
        "versions": list(dict.fromkeys(versions)),
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def markdown(machine: Mapping[str, Any], results: Sequence[Result]) -> str:
    """Return the results as Markdown."""
    lines = [
        f"Measured on {machine['cores']} cores of {machine['processor']},"
        f" {machine['memory_gib']} GiB, {machine['system']}; {machine['java']};"
        f" Python {machine['python']}; {'; '.join(machine['versions'])}.",
        "",
    ]
    whole = [row for row in results if "rate" in row or row["failed"]]
    if whole:
        lines += [
            "| workload | format | contender | changes/s, whole run | steady | processor s"
            " | peak memory | Joinery is |",
            "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
            *(whole_row(row, results) for row in whole),
            "",
        ]
    phases = [row for row in results if "batch_median_ms" in row]
    if phases:
        lines += [
            "| workload | phase | batches | median | 90 % within | steady changes/s |",
            "| --- | --- | ---: | ---: | ---: | ---: |",
            *map(phase_row, phases),
            "",
        ]
    return "\n".join(lines)


def whole_row(row: Result, results: Sequence[Result]) -> str:
    """Return one line about whole runs."""
    head = f"| {row['title']} | {row['format']} | {row['contender']} |"
    if row["failed"]:
        return f"{head} failed: {row['failed'].splitlines()[0][:80]} | | | | |"
    steady = f"{row['steady_rate']:,}" if "steady_rate" in row else ""
    return (
        f"{head} {row['rate']:,} | {steady} | {row['cpu_seconds']:,.0f} |"
        f" {row['peak_gib']:.2f} GiB | {ratio(row, results)} |"
    )


def ratio(row: Result, results: Sequence[Result]) -> str:
    """Return how many times as fast Joinery was on the same workload."""
    ours = [
        each["rate"]
        for each in results
        if each["contender"] == "joinery"
        and (each["workload"], each["format"]) == (row["workload"], row["format"])
        and "rate" in each
    ]
    if row["contender"] == "joinery" or not ours:
        return ""
    return f"{ours[0] / row['rate']:.2f} × as fast"


def phase_row(row: Result) -> str:
    """Return one line about a phase's batches."""
    steady = f"{row['steady_rate']:,}" if "steady_rate" in row else ""
    return (
        f"| {row['title']} | {row['phase']} | {row['batches']} | {row['batch_median_ms']} ms |"
        f" {row['batch_p90_ms']} ms | {steady} |"
    )


def into_page(page: Path, text: str) -> None:
    """Replace what stands between the marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
