package dev.joinery.kernel.format;

/** Takes what a format tells about raw records, in the order in which it stands in the log. */
public interface ChangeSink {
  /** The row as it is now; columns marked absent keep their stored value. */
  int UPSERT = 0;

  /** The row went. */
  int DELETE = 1;

  /** A null value under a key: the row went, unless a delete directly before it said so. */
  int TOMBSTONE = 2;

  /**
   * One change. The upsert of a record is the last that is told of it, a delete may stand before.
   *
   * @param relation as it was given to {@link Format#decode}
   * @param op {@link #UPSERT}, {@link #DELETE} or {@link #TOMBSTONE}
   * @param positioned whether the source gave a position
   * @param position the source's own position, 0 without one
   * @param row the UnsafeRow of the relation's columns, of a delete or a tombstone only the key's
   *     set, and what a flat delete has to tell beside it; starts at index 0, valid until this method returns, that of an upsert until
   *     the next record
   * @param rowLength the bytes of {@code row} that count
   * @param absent bit i set: column i was left out or not available (and is null in {@code row});
   *     null when there is none; valid as long as {@code row}
   */
  void change(
      int relation,
      int op,
      boolean positioned,
      long position,
      byte[] row,
      int rowLength,
      long[] absent);

  /**
   * The record cannot be used: a stable reason, and a sentence that holds none of its values. What
   * was told of it before is void.
   */
  void deadLetter(int relation, String reason, String detail);

  /** Whether an update is nothing to this sink, and only counted. */
  default boolean insertsOnly() {
    return false;
  }

  /**
   * The source committed the change just told, or ignored, at this time.
   *
   * @param millis since 1970, by the source's clock
   */
  default void committed(int relation, long millis) {}

  /** The change just told was read from the table as it stood, not when it happened. */
  default void snapshot(int relation) {}

  /** Adds one to a counter: something was left out, and that is right. */
  void count(int relation, String counter);
}
