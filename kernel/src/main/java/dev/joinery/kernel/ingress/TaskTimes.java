package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.Nodes;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.EventTime;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.node.BatchWatermarks;
import dev.joinery.kernel.node.NewestTimes;
import dev.joinery.kernel.node.Reached;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.program.Program;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The times of what one task reads: remembers, of each relation with a clock, the newest time in
 * each partition, those of the batches before included, and how far its rows were behind it.
 *
 * <p>A task reads a partition in the order of its log. Where several tasks share one (a topic of
 * files), each begins with what the batches before it had.
 */
final class TaskTimes {
  /** Buckets for each doubling of a distance, so that a bucket is at most a quarter wide. */
  private static final int PART_BITS = 2;

  static final int BUCKETS = 64 << PART_BITS;

  private final Program program;
  private final OfRelation[] relations;
  private final Broadcast<SharedProgram> shared;
  private final IntFunction<RelationRows> evaluating;
  private Nodes nodes;

  /**
   * @param clocks by relation, null where it has none
   * @param shared evaluates derived columns; null where there is nothing that could, and those
   *     relations have no clock
   * @param evaluating what evaluates rows of a relation anyhow, so that each is evaluated once; null
   *     where nothing does
   */
  TaskTimes(
      Program program,
      Clock[] clocks,
      Broadcast<SharedProgram> shared,
      IntFunction<RelationRows> evaluating) {
    this.program = program;
    this.evaluating = evaluating;
    this.relations = new OfRelation[program.relations().size()];
    this.shared = shared;
    NewestTimes newest = NewestTimes.here();
    BatchWatermarks watermarks = BatchWatermarks.here();
    for (int i = 0; i < relations.length; i++) {
      if (i < clocks.length && clocks[i] != null && (!clocks[i].derived() || shared != null)) {
        relations[i] = new OfRelation(i, clocks[i], newest, watermarks);
      }
    }
  }

  boolean has(int relation) {
    return relations[relation] != null;
  }

  /**
   * Takes the row of an upsert, in the order of its log.
   *
   * @param partition of the log, {@code name} what it is called
   * @param logged when the log took its record; {@link Marks#UNKNOWN} where that is not known
   */
  void take(int relation, long partition, Supplier<String> name, Slice row, long logged) {
    relations[relation].take(partition, name, row, latest(relation, logged));
  }

  /** The newest time that moves a watermark where the log took a record at a time. */
  long latest(int relation, long logged) {
    long ahead = has(relation) ? relations[relation].clock.ahead() : Clock.UNBOUNDED;
    return ahead == Clock.UNBOUNDED || logged == Marks.UNKNOWN ? Long.MAX_VALUE : logged + ahead;
  }

  /**
   * The newest time in a partition so far, the batches before included; {@link Marks#UNKNOWN} for
   * none.
   */
  long newest(int relation, long partition, Supplier<String> name) {
    return relations[relation].partition(partition, name).newest;
  }

  /**
   * The newest time in each partition of which a row with a time was read; empty for a relation
   * without a clock.
   */
  Map<Long, Long> newest(int relation) {
    Map<Long, Long> newest = new HashMap<>();
    if (has(relation)) {
      relations[relation].partitions.forEach(
          (number, each) -> {
            if (each.newest != Marks.UNKNOWN) {
              newest.put(number, each.newest);
            }
          });
    }
    return newest;
  }

  /** The time of the row that was taken last; {@link Marks#UNKNOWN} where it had none. */
  long time(int relation) {
    return relations[relation].time;
  }

  /** The time of the row of an upsert, which moves nothing; {@link Marks#UNKNOWN} for none. */
  long timeOf(int relation, Slice row) {
    return relations[relation].timeOf(row);
  }

  /** How far the relation had come before the batch. */
  Reached reached(int relation) {
    return relations[relation].reached;
  }

  /** Counts what the clocks of a row's device tell; returns why it is refused, null where not. */
  String refusal(int relation, Slice row) {
    return relations[relation] == null ? null : relations[relation].refusal(row);
  }

  /** Adds what was read since the last call. */
  void drainTo(Counters counters) {
    for (OfRelation each : relations) {
      if (each != null) {
        each.drainTo(counters);
      }
    }
  }

  /** After a task that has sent all it had. */
  void close() {
    if (nodes != null) {
      shared.value().giveBack(nodes);
      nodes = null;
    }
  }

  private RelationRows rows(int relation) {
    RelationRows known = evaluating.apply(relation);
    if (known != null) {
      return known;
    }
    if (nodes == null) {
      nodes = shared.value().take();
    }
    return nodes.context().rows(relation);
  }

  private static final class Partition {
    final String name;
    long newest;
    boolean heard;

    Partition(String name, long newest) {
      this.name = name;
      this.newest = newest;
    }
  }

  private final class OfRelation {
    private final String name;
    private final Clock clock;
    private final NewestTimes before;
    private final RelationRows rows;
    private final UnsafeRow row;
    private final Map<Long, Partition> partitions = new HashMap<>();
    private final long[] behind = new long[BUCKETS];
    private long lastNumber;
    private Partition last;
    private final Reached reached;
    private final DeviceClocks devices;
    private boolean counted;
    private long ahead;
    private long time = Marks.UNKNOWN;

    OfRelation(int relation, Clock clock, NewestTimes newest, BatchWatermarks watermarks) {
      Program.RelationProgram declared = program.relations().get(relation);
      this.name = declared.name();
      this.clock = clock;
      this.before = newest;
      this.reached = watermarks.reached(name);
      this.rows = clock.derived() ? rows(relation) : null;
      this.devices = clock.device() == null ? null : new DeviceClocks(name, clock.device());
      this.row =
          new UnsafeRow(clock.derived() ? rows.visibleColumns() : declared.columns().size());
    }

    void take(long number, Supplier<String> called, Slice taken, long latest) {
      time = timeOf(taken);
      if (time == Marks.UNKNOWN) {
        return;
      }
      if (time > latest) {
        ahead++;
        return;
      }
      Partition partition = partition(number, called);
      long before = partition.newest;
      behind[bucket(before == Marks.UNKNOWN ? Marks.UNKNOWN : distance(before, time))]++;
      counted = true;
      partition.heard = true;
      partition.newest = Math.max(before, time);
    }

    long timeOf(Slice taken) {
      BinaryRow.point(row, clock.derived() ? rows.derived(taken) : taken);
      return EventTime.isIn(row, clock.column()) ? row.getLong(clock.column()) : Marks.UNKNOWN;
    }

    String refusal(Slice taken) {
      if (devices == null) {
        return null;
      }
      BinaryRow.point(row, rows.derived(taken));
      return devices.take(row);
    }

    private Partition partition(long number, Supplier<String> called) {
      if (last == null || number != lastNumber) {
        last = partitions.computeIfAbsent(number, each -> opened(called.get()));
        lastNumber = number;
      }
      return last;
    }

    private Partition opened(String partition) {
      return new Partition(partition, before.of(name, partition));
    }

    void drainTo(Counters counters) {
      if (devices != null) {
        devices.drainTo(counters);
      }
      if (ahead > 0) {
        counters.relation(name, "time_ahead", ahead);
        ahead = 0;
      }
      if (!counted) {
        return;
      }
      counted = false;
      for (Partition each : partitions.values()) {
        if (each.heard) {
          counters.add(Counters.NEWEST, name, each.name, each.newest);
          each.heard = false;
        }
      }
      for (int i = 0; i < BUCKETS; i++) {
        if (behind[i] > 0) {
          counters.add(Counters.BEHIND, name, Integer.toString(i), behind[i]);
          behind[i] = 0;
        }
      }
    }
  }

  /** The largest there is where it is larger. */
  private static long distance(long before, long time) {
    long distance = before - time;
    return before > time && distance < 0 ? Long.MAX_VALUE : distance;
  }

  /**
   * The bucket of a distance in microseconds: 0 for none, then of those below 4 each its own, then
   * four for each doubling.
   */
  static int bucket(long micros) {
    if (micros < 1 << PART_BITS) {
      return (int) Math.max(0, micros);
    }
    int doublings = 63 - Long.numberOfLeadingZeros(micros);
    int part = (int) (micros >>> doublings - PART_BITS) & (1 << PART_BITS) - 1;
    return (doublings - PART_BITS + 1 << PART_BITS) + part;
  }
}
