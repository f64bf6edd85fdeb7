from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bench.compare.profile_parts import Sample, part_of, parts, samples, table, threads

STATE = "org.apache.spark.sql.execution.streaming.state.RocksDB.get"
FOLD = "dev.joinery.kernel.node.Fold.handle"
SHUFFLE = "org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write"
TASK = "Executor task launch worker for task 7.0"
BUSY = """\
package dev.joinery.kernel.node;

final class Busy {
  public static void main(String[] arguments) throws Exception {
    try (jdk.jfr.Recording recording = new jdk.jfr.Recording()) {
      recording.enable("jdk.ExecutionSample").withPeriod(java.time.Duration.ofMillis(10));
      recording.start();
      Thread task = new Thread(Busy::spin, "Executor task launch worker");
      task.start();
      task.join();
      recording.dump(java.nio.file.Path.of(arguments[0]));
    }
  }

  private static void spin() {
    long end = System.nanoTime() + 3_000_000_000L;
    double sum = 0;
    while (System.nanoTime() < end) {
      sum = work(sum);
    }
  }

  // The sampler does not see a thread that is asking for the time, so it asks seldom.
  private static double work(double sum) {
    for (int times = 0; times < 1_000_000; times++) {
      sum += Math.sqrt(sum + 1);
    }
    return sum;
  }
}
"""


def test_a_sample_belongs_to_its_innermost_frame_that_has_a_part() -> None:
    assert part_of(["java.util.Arrays.copyOf", STATE, FOLD, SHUFFLE]) == "state"
    assert part_of(["dev.joinery.kernel.bytes.Slice.equals", FOLD, STATE]) == "nodes"
    assert part_of(["org.apache.spark.unsafe.Platform.copyMemory", SHUFFLE]) == "shuffle"
    assert part_of(["java.lang.Thread.run"]) == "other"


def test_generated_code_is_sorting_or_encoding() -> None:
    generated = "org.apache.spark.sql.catalyst.expressions.GeneratedClass$"

    assert part_of([f"{generated}SpecificOrdering.compare"]) == "sort"
    assert part_of([f"{generated}SpecificUnsafeProjection.apply"]) == "Spark's encoding"


def test_parts_are_those_of_tasks_and_idle_threads_are_nobodys() -> None:
    found = [
        Sample(3, TASK, (STATE, FOLD)),
        Sample(1, TASK, (FOLD,)),
        Sample(4, "stream execution thread for main", ("a.Plan.of",)),
        Sample(9, "Thread-4", ("java.net.SocketInputStream.read",)),
    ]

    assert {"state": 3, "nodes": 1} == parts(found)
    assert {"tasks": 4, "the query's own thread": 4} == threads(found)
    assert "| state | 75 % (3) |" in table(found)


@pytest.mark.skipif(shutil.which("java") is None, reason="reads a recording with Java")
def test_a_recording_is_read(tmp_path: Path) -> None:
    (tmp_path / "Busy.java").write_text(BUSY, encoding="utf-8")
    recording = tmp_path / "busy.jfr"
    subprocess.run(["java", str(tmp_path / "Busy.java"), str(recording)], check=True)

    found = parts(samples(recording))

    assert found["nodes"] > 0
    assert found["nodes"] == found.total()
