package dev.joinery.kernel.format;

/** Walks over one record and remembers where it stands. */
abstract class Cursor {
  private static final int MAX_DEPTH = 512;

  byte[] bytes = new byte[0];
  int at;
  int end;
  private int depth;

  /** Starts at {@code from}; the record ends before {@code end}. */
  final void open(byte[] bytes, int from, int end) {
    this.bytes = bytes;
    this.at = from;
    this.end = end;
    this.depth = 0;
  }

  /** Goes into a value that holds others. */
  final void enter() {
    if (++depth > MAX_DEPTH) {
      throw Rejected.undecodable("nested deeper than " + MAX_DEPTH + " levels");
    }
  }

  final void leave() {
    depth--;
  }

  /** Refuses what is left behind the record. */
  abstract void finish();
}
