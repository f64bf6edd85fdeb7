package dev.joinery.kernel.message;

/**
 * What a change does and where it stands, without its row.
 *
 * @param snapshot whether it stood in its table before: it is never late
 * @param newest the newest time before it in its partition, in microseconds; {@link Marks#UNKNOWN}
 *     where none is known
 * @param moved of a delete the time of the row that its record puts under another key; {@link
 *     Marks#UNKNOWN} where it puts none, or one without a time
 */
public record Change(
    int op,
    boolean positioned,
    long position,
    long major,
    long minor,
    long[] absent,
    boolean snapshot,
    long newest,
    long moved) {

  /** A change of which no time is known. */
  public Change(int op, boolean positioned, long position, long major, long minor, long[] absent) {
    this(op, positioned, position, major, minor, absent, false, Marks.UNKNOWN, Marks.UNKNOWN);
  }

  public Change ofSnapshot() {
    return new Change(
        op, positioned, position, major, minor, absent, true, Marks.UNKNOWN, Marks.UNKNOWN);
  }

  public Change after(long newest) {
    return new Change(op, positioned, position, major, minor, absent, snapshot, newest, moved);
  }

  public Change moving(long time) {
    return new Change(op, positioned, position, major, minor, absent, snapshot, newest, time);
  }
}
