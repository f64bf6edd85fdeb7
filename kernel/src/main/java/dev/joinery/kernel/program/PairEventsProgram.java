package dev.joinery.kernel.program;

import java.util.List;
import org.apache.spark.sql.types.StructType;

/**
 * Remembers the events of two logs with one join value; sends the pairs whose times are near.
 *
 * @param key what identifies an event that the stream brings
 * @param otherKey what identifies one of the other log
 * @param event the columns of both sides: an event of one has nulls in those of the other
 * @param other over {@code event}, what tells the other's; before it stand the stream's
 * @param eventTime over {@code event}
 * @param otherTime over {@code event}
 * @param fromMicros the least that the other's time is above the event's
 * @param toMicros the most
 * @param first over {@code event}, the first column that is added
 * @param logs by whose watermark events are forgotten
 */
public record PairEventsProgram(
    String name,
    int level,
    String owner,
    StructType key,
    StructType otherKey,
    StructType event,
    int other,
    int eventTime,
    int otherTime,
    long fromMicros,
    long toMicros,
    long retentionMicros,
    int first,
    int[] logs,
    List<StreamProgram.Onward> onward)
    implements Program.NodeProgram {
  /** How long an address is left alone before what it keeps is looked at. */
  public long keepMicros() {
    return retentionMicros + Math.max(Math.abs(fromMicros), Math.abs(toMicros));
  }
}
