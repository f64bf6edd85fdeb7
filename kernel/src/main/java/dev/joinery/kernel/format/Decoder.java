package dev.joinery.kernel.format;

import java.util.Arrays;

/** What decoding one relation's records shares among the formats; remembers only scratch. */
final class Decoder {
  final RowBuilder row;
  private final MessageKey key;

  Decoder(RowBuilder row, MessageKey key) {
    this.row = row;
    this.key = key;
  }

  /** Tells a tombstone; a key that lacks a column is only counted. */
  void tombstone(int relation, byte[] messageKey, ChangeSink sink) {
    Image image = key.scan(messageKey);
    if (!image.there || !row.hasKey(image)) {
      sink.count(relation, "tombstones_without_key");
      return;
    }
    row.writeKey(image);
    sink.change(relation, ChangeSink.TOMBSTONE, false, 0, row.bytes(), row.length(), null);
  }

  /** Tells a delete by the image's key, else by the message's; and what the image has beside it. */
  void deleteTelling(
      int relation,
      Image image,
      byte[] messageKey,
      boolean positioned,
      long position,
      ChangeSink sink,
      String fix) {
    delete(relation, image, image, messageKey, positioned, position, sink, fix);
  }

  /** Tells a delete by the image's key, else by the message's. */
  void delete(
      int relation,
      Image image,
      byte[] messageKey,
      boolean positioned,
      long position,
      ChangeSink sink,
      String fix) {
    delete(relation, image, null, messageKey, positioned, position, sink, fix);
  }

  private void delete(
      int relation,
      Image image,
      Image beside,
      byte[] messageKey,
      boolean positioned,
      long position,
      ChangeSink sink,
      String fix) {
    Image from = image;
    if (!image.there || !row.hasKey(image)) {
      from = key.scan(messageKey);
      if (!from.there || !row.hasKey(from)) {
        throw Rejected.keyMissing("a delete without " + keyNames() + ": " + fix);
      }
    }
    row.writeKey(from, beside);
    sink.change(
        relation, ChangeSink.DELETE, positioned, position, row.bytes(), row.length(), null);
  }

  /**
   * Builds the row of an upsert; key columns the image leaves out come from the message's key.
   *
   * @param whole true where the image is all there is: what is missing is null, not absent
   */
  void buildUpsert(Image image, byte[] messageKey, boolean whole) {
    Image fallback = null;
    if (!row.hasKey(image)) {
      fallback = key.scan(messageKey);
      requireKey(image, fallback);
    }
    row.writeRow(image, fallback, whole);
  }

  private void requireKey(Image image, Image fallback) {
    for (int column : row.key) {
      boolean absent = image.absent(column);
      if (absent && fallback.there && fallback.present(column)) {
        continue;
      }
      if (!image.present(column) || image.unavailable(column)) {
        throw Rejected.keyMissing(
            "key column \"" + row.columns.get(column) + "\" is " + (absent ? "missing" : "null"));
      }
    }
  }

  void upsert(int relation, boolean positioned, long position, ChangeSink sink) {
    for (int i = 0; i < row.unavailable; i++) {
      sink.count(relation, "unavailable_values");
    }
    sink.change(
        relation,
        ChangeSink.UPSERT,
        positioned,
        position,
        row.bytes(),
        row.length(),
        row.absentOrNull());
  }

  /** Whether both images have a whole key, and not the same. */
  boolean keyChanged(Image before, Image after) {
    if (!before.there || sameKeyBytes(before, after)) {
      return false;
    }
    if (!row.hasKey(before) || !row.hasKey(after)) {
      return false;
    }
    row.writeKey(before);
    byte[] old = Arrays.copyOf(row.bytes(), row.length());
    row.writeKey(after);
    return !Arrays.equals(old, 0, old.length, row.bytes(), 0, row.length());
  }

  private boolean sameKeyBytes(Image before, Image after) {
    for (int column : row.key) {
      if (before.absent(column) || after.absent(column)) {
        return before.absent(column) == after.absent(column);
      }
      if (!before.sameBytes(column, after)) {
        return false;
      }
    }
    return true;
  }

  private String keyNames() {
    return row.key.length == 1
        ? "its key column \"" + row.columns.get(row.key[0]) + "\""
        : "all its key columns "
            + String.join(
                ", ", Arrays.stream(row.key).mapToObj(row.columns::get).toArray(String[]::new));
  }
}
