"""Results as a page: the machine, the versions, and a table with ratios a row."""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.compare.rows import Figure, Row, Told

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


@dataclass(frozen=True, slots=True)
class Result:
    """What the sides of a row told, round by round, and who failed, with what it said."""

    row: Row
    told: Mapping[str, Sequence[Told]]
    failed: Mapping[str, str]


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
    """Return the results as Markdown, a table a row."""
    lines = [
        f"Measured on {machine['cores']} cores of {machine['processor']},"
        f" {machine['memory_gib']} GiB, {machine['system']}; {machine['java']};"
        f" Python {machine['python']}; {'; '.join(machine['versions'])}.",
        *speed(results),
        "",
    ]
    for result in results:
        lines += [*table(result), ""]
    return "\n".join(lines)


def speed(results: Sequence[Result]) -> list[str]:
    """Say how fast the machine was: the base commit's UserProfile in the same sitting."""
    for result in results:
        if result.row.name != "user-profile":
            continue
        taken = [each["seconds"] for each in result.told.get("base", ())]
        if taken:
            return [f"The base commit's UserProfile took {shown(statistics.median(taken))} s."]
    return []


def table(result: Result) -> list[str]:
    """Return a row's table: medians over its rounds, and what this checkout is beside each."""
    figures = [each for each in result.row.figures if any(each.key in one for one in every(result))]
    judged = next((each for each in figures if each.judged), None)
    beside = "ours" in result.told and len(result.told) > 1 and judged is not None
    head = [result.row.title, "rounds", *(each.title for each in figures)]
    head += ["ours is"] if beside else []
    lines = [line(head), line(["---", *["---:"] * (len(head) - 1)])]
    for name, told in result.told.items():
        if name in result.failed:
            lines.append(line([name, f"failed: {result.failed[name].splitlines()[0][:80]}"]))
            continue
        cells = [name, str(len(told)), *(shown(median(told, each)) for each in figures)]
        if beside and judged is not None:
            cells.append("" if name == "ours" else ratio(result, name, judged))
        lines.append(line(cells))
    return lines


def ratio(result: Result, name: str, figure: Figure) -> str:
    """Return how many times as good this checkout's median is."""
    ours, other = (median(result.told[each], figure) for each in ("ours", name))
    if not ours or not other:
        return ""
    return f"{ours / other if figure.more else other / ours:.2f} ×"


def every(result: Result) -> list[Told]:
    """Return what all turns told."""
    return [each for told in result.told.values() for each in told]


def median(told: Sequence[Told], figure: Figure) -> float | None:
    """Return the median of a figure over rounds."""
    values = [each[figure.key] for each in told if each.get(figure.key) is not None]
    return statistics.median(values) if values else None


def shown(value: float | None) -> str:
    """Write a figure."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def line(cells: Sequence[str]) -> str:
    """Write a line of a table."""
    return f"| {' | '.join(cells)} |"


def into_page(page: Path, text: str) -> None:
    """Replace what stands between the marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
