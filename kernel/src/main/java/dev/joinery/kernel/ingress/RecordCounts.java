package dev.joinery.kernel.ingress;

import dev.joinery.kernel.format.ColumnsSeen;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Program;

/**
 * What a task counts of the records of each relation; nothing of what a relation of the same name
 * has counted, whose records it reads, too.
 */
final class RecordCounts {
  private final Program program;
  private final boolean[] again;
  private final long[] read;
  private final long[] dead;
  private final long[] committed;
  private final long[] times;
  private final Counters counters = new Counters();

  RecordCounts(Program program) {
    this.program = program;
    int relations = program.relations().size();
    again = new boolean[relations];
    for (int i = 0; i < relations; i++) {
      again[i] = program.readsAgain(i);
    }
    read = new long[relations];
    dead = new long[relations];
    committed = new long[relations];
    times = new long[relations];
  }

  void read(int relation) {
    read[relation]++;
  }

  void dead(int relation) {
    dead[relation]++;
  }

  /** Takes the time at which a record's change was committed. */
  void committed(int relation, long millis) {
    committed[relation]++;
    times[relation] += millis;
  }

  void add(int relation, String counter, long count) {
    if (!again[relation]) {
      counters.relation(nameOf(relation), counter, count);
    }
  }

  /** Tells what was counted since the last time. */
  void tell(TaskTimes taskTimes) {
    taskTimes.drainTo(counters);
    for (int i = 0; i < read.length; i++) {
      tell(i, "read", read);
      tell(i, "dead", dead);
      if (tell(i, "timed", committed)) {
        add(i, "commit_times_ms", times[i]);
        times[i] = 0;
      }
    }
  }

  private boolean tell(int relation, String counter, long[] counts) {
    if (counts[relation] == 0) {
      return false;
    }
    add(relation, counter, counts[relation]);
    counts[relation] = 0;
    return true;
  }

  /** Tells which columns the records of a relation had. */
  void tellColumns(Format[] formats) {
    for (int i = 0; i < formats.length; i++) {
      int relation = i;
      ColumnsSeen seen = formats[i] == null ? null : formats[i].columnsSeen();
      if (seen != null) {
        seen.tell((counter, count) -> add(relation, counter, count));
      }
    }
  }

  void drainTo(Outbox outbox, long timestamp) {
    counters.drainTo(outbox, timestamp);
  }

  void drainTo(Counters others) {
    counters.drainTo(others);
  }

  private String nameOf(int relation) {
    return program.relations().get(relation).name();
  }
}
