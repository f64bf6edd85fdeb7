package dev.joinery.kernel.format;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads texts of which each has to be one row. */
public final class RowReader {
  private final Format format;
  private final int relation;
  private final Taken taken = new Taken();

  /**
   * @param format of {@code relation}
   * @param relation its number among those that the format was made for
   */
  public RowReader(Format format, int relation) {
    this.format = format;
    this.relation = relation;
  }

  /**
   * Returns the UnsafeRow of a text's columns.
   *
   * @throws IllegalArgumentException it is not a row
   */
  public byte[] row(String text) {
    taken.row = null;
    format.decode(relation, null, text.getBytes(StandardCharsets.UTF_8), taken);
    if (taken.row == null) {
      throw new IllegalArgumentException("no row");
    }
    return taken.row;
  }

  private static final class Taken implements ChangeSink {
    private byte[] row;

    @Override
    public void change(
        int relation,
        int op,
        boolean positioned,
        long position,
        byte[] bytes,
        int length,
        long[] absent) {
      row = Arrays.copyOf(bytes, length);
    }

    @Override
    public void deadLetter(int relation, String reason, String detail) {
      throw new IllegalArgumentException(reason + ": " + detail);
    }

    @Override
    public void count(int relation, String counter) {}
  }
}
