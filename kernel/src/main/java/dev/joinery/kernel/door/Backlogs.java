package dev.joinery.kernel.door;

import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/**
 * Remembers of each run of a query how many short batches it has had in a row, by which it has
 * worked off its backlog.
 */
final class Backlogs {
  /** A longer batch works a backlog off. */
  static final long SHORT_MS = 5_000;

  /** With this many short batches in a row it is no chance. */
  static final int IN_A_ROW = 3;

  private final Map<UUID, Integer> rows = new HashMap<>();

  void begin(UUID run) {
    rows.put(run, 0);
  }

  void batch(UUID run, long milliseconds) {
    rows.put(run, milliseconds < SHORT_MS ? rows.getOrDefault(run, 0) + 1 : 0);
  }

  /** Takes a run for done with its backlog: there is nothing that it could read. */
  void idle(UUID run) {
    rows.put(run, IN_A_ROW);
  }

  void end(UUID run) {
    rows.remove(run);
  }

  /** Whether no run has a backlog, as far as is known; not before there is a run. */
  boolean none() {
    return !rows.isEmpty() && rows.values().stream().allMatch(row -> row >= IN_A_ROW);
  }

  /** Asks for as many short batches again. */
  void startOver() {
    rows.replaceAll((run, row) -> 0);
  }
}
