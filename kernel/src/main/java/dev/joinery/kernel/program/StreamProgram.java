package dev.joinery.kernel.program;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/** The nodes of streams, and where events enter and go on. */
public interface StreamProgram {
  /** Where the events of a relation enter; without a key, they are told by their places. */
  public record EntryProgram(int relation, List<Onward> onward) implements Serializable {}

  /**
   * The steps up to the next lookup, then that lookup's node with its address over the shaped row,
   * or a product. Exactly one of {@code target} and {@code product} is at least 0.
   *
   * @param address null at the end, before a claim, and before a node that remembers nothing
   * @param marked whether the assembler's last input tells a correction
   */
  public record Onward(int assembler, int target, int product, Program.Address address, boolean marked)
      implements Serializable {}

  /** What becomes of an event that meets no row. */
  public enum Miss {
    NULL,
    DROP,
    DEAD_LETTER,
    WAIT;

    /** Whether an event is sent on that never met a row. */
    public boolean sends() {
      return this == NULL || this == WAIT;
    }
  }

  /**
   * A lookup of the current row.
   *
   * @param owner the stream that counts and letters name
   * @param event the columns that events come with, {@code key} those that identify them
   * @param fields the assembler, over the table's row, of what is added
   * @param waitMicros how long an event waits, where {@code miss} says so
   * @param forMicros how long an event is sent again when the row changes; -1 for never
   * @param everyMicros how often it is, 0 for at once
   * @param where the assembler, over {@code event} and the fields, that says which are; -1 for all
   * @param hidden places in {@code event} of the columns that dead letters leave out, or null
   */
  @JsonIgnoreProperties("asked")
  public record CurrentLookupProgram(
      String name,
      int level,
      String owner,
      int relation,
      StructType key,
      StructType event,
      int fields,
      Miss miss,
      long waitMicros,
      long forMicros,
      long everyMicros,
      int where,
      List<Onward> onward,
      int[] hidden)
      implements Program.NodeProgram {
    public boolean remembers() {
      return miss == Miss.WAIT || keepsRecent();
    }

    public boolean keepsRecent() {
      return forMicros >= 0;
    }

    /** Whether remembered events may have been last sent with different fields. */
    public boolean tellsApart() {
      return where >= 0 || everyMicros > 0 || !miss.sends();
    }

    @Override
    public boolean isTimed() {
      return remembers();
    }
  }

  /**
   * A lookup of the row that was valid at the event's time.
   *
   * @param on the event's join value, {@code table} the table's, over decoded columns
   * @param eventTime over {@code event}, {@code validFrom} over the table's visible row
   * @param maxDelayMicros the table's watermark is the newest time less this
   * @param idleMicros after so long without a change the table holds nobody up; -1 for never
   * @param historyMicros how far an event may be behind the watermark; -1 for any distance
   * @param corrects whether an event goes at once and is corrected, else it waits for the watermark
   * @param buckets how many addresses the table's keys are shared among
   */
  public record AsOfProgram(
      String name,
      int level,
      String owner,
      int relation,
      StructType key,
      StructType event,
      int fields,
      Miss miss,
      Program.Address on,
      Program.Address table,
      int eventTime,
      int validFrom,
      long maxDelayMicros,
      long idleMicros,
      long historyMicros,
      boolean corrects,
      int buckets,
      List<Onward> onward)
      implements Program.NodeProgram {
    @Override
    public boolean isTimed() {
      return idleMicros >= 0;
    }
  }

  /**
   * Columns over the events of the same key in the time up to each event.
   *
   * @param by the event's key, over {@code event}; a null is a value of its own
   * @param eventTime over {@code event}
   * @param overMicros an event of time t sees those in (t - over, t]
   * @param retentionMicros how far an event may be below the watermark of {@code logs}
   * @param aggregates over {@code event}
   * @param values the assembler, over {@code event}, with the aggregates and the seconds of {@code
   *     overMicros} as inputs
   */
  public record RollingProgram(
      String name,
      int level,
      String owner,
      StructType key,
      StructType event,
      Program.Address by,
      int eventTime,
      long overMicros,
      long retentionMicros,
      int[] logs,
      List<Program.AggregateProgram> aggregates,
      int values,
      List<Onward> onward)
      implements Program.NodeProgram {
    /** How far below the watermark an event may be that one which still counts sees. */
    public long keepMicros() {
      return retentionMicros + overMicros;
    }
  }

  /**
   * Whether an event of the same value stands before one in the log, near its time.
   *
   * @param by the value, over {@code event}; a null was never seen
   * @param eventTime over {@code event}
   * @param forMicros what is less than this apart is near
   * @param logs by whose watermark times are forgotten
   * @param hidden places in {@code event} of the columns that dead letters leave out, or null
   */
  public record SeenProgram(
      String name,
      int level,
      String owner,
      StructType key,
      StructType event,
      Program.Address by,
      int eventTime,
      long forMicros,
      int[] logs,
      List<Onward> onward,
      int[] hidden)
      implements Program.NodeProgram {}

  /**
   * Before a node that remembers events: where each of them is remembered.
   *
   * @param on the event's join value, over {@code event}
   * @param target the lookup's node
   * @param buckets how many addresses the events' identities are shared among
   * @param keepMicros how long the node may remember an event; -1 where {@code eventTime} tells
   * @param eventTime over {@code event}, where it tells until when; else -1
   */
  public record ClaimProgram(
      String name,
      int level,
      String owner,
      StructType event,
      Program.Address on,
      int target,
      int buckets,
      long keepMicros,
      int eventTime,
      long maxDelayMicros,
      long idleMicros)
      implements Program.NodeProgram {
    /** Whether the node remembers an event until a watermark is past its time. */
    public boolean isVersioned() {
      return eventTime >= 0;
    }

    @Override
    public boolean isTimed() {
      return !isVersioned();
    }
  }

  /** A user's function, which is called outside the kernel; it remembers nothing. */
  public record MapProgram(
      String name,
      int level,
      String owner,
      StructType key,
      StructType event,
      StructType output,
      List<Onward> onward)
      implements Program.NodeProgram {}
}
