package dev.joinery.kernel.message;

/**
 * What a change does and where it stands, without its row.
 *
 * @param snapshot whether it stood in its table before: it is never late
 * @param newest the newest time before it in its partition, in microseconds; {@link Marks#UNKNOWN}
 *     where none is known
 */
public record Change(
    int op,
    boolean positioned,
    long position,
    long major,
    long minor,
    long[] absent,
    boolean snapshot,
    long newest) {

  /** A change of which no time is known. */
  public Change(int op, boolean positioned, long position, long major, long minor, long[] absent) {
    this(op, positioned, position, major, minor, absent, false, Marks.UNKNOWN);
  }

  public Change ofSnapshot() {
    return new Change(op, positioned, position, major, minor, absent, true, Marks.UNKNOWN);
  }

  public Change after(long newest) {
    return new Change(op, positioned, position, major, minor, absent, snapshot, newest);
  }
}
