package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;

/** The state of the address that is being handled: one value, and numbered pages. */
public interface State extends Pages {
  /** The value, or null. */
  byte[] read();

  void write(byte[] value);

  void clear();

  /** Writes what there is, or clears the value where that is nothing. */
  default void writeOrClear(ByteWriter value, boolean nothing) {
    if (nothing) {
      clear();
    } else {
      write(value.toBytes());
    }
  }

  /** Clears the value, from within {@code Node.expire}; its numbers were none above this. */
  default void forget(long number) {
    throw new UnsupportedOperationException("state that is not forgotten");
  }

  /** What numbers of an address of which nothing is known have to stand above. */
  default long highestForgotten() {
    throw new UnsupportedOperationException("state that is not forgotten");
  }

  /** The same as of before the batch: what was sent under a higher number was never committed. */
  default long highestForgottenBefore() {
    throw new UnsupportedOperationException("state that is not forgotten");
  }

  /**
   * Has {@code Node.expire} called in some batch after a time; {@code entry} says for what of this
   * address.
   */
  default void expireAfter(long timestamp, Slice entry) {
    throw new UnsupportedOperationException("state that is not forgotten");
  }

  /**
   * The same, soon after that time: late by a thirty-second of a span at most, or by a second, where
   * messages pay for it.
   */
  default void expireAfter(long timestamp, long spanMicros, Slice entry) {
    throw new UnsupportedOperationException("state that is not forgotten");
  }

  /**
   * How far a relation's watermark had come before the batch; the least number where it has none
   * yet.
   */
  default long watermark(int relation) {
    return Long.MIN_VALUE;
  }

  /**
   * Has {@code Node.expire} called in some batch that a relation's watermark was past a time
   * before; {@code entry} says for what of this address.
   */
  default void expireAtWatermark(int relation, long time, Slice entry) {
    throw new UnsupportedOperationException("state that is not forgotten");
  }

  /**
   * Whether the watermark by which deadlines beside the node go has come to a time by the end of the
   * batch.
   */
  default boolean hasPassed(int deadlines, long time) {
    throw new UnsupportedOperationException("a level without deadlines");
  }

  /**
   * The same, or all logs have ended with the batch; where a time has not come, the node is told in
   * the batch in which it does.
   */
  default boolean hasCome(int deadlines, long time) {
    throw new UnsupportedOperationException("a level without deadlines");
  }

  /** Has the node called once a time in microseconds has come; asked again, it is called twice. */
  default void wakeAt(long timestamp) {
    throw new UnsupportedOperationException("a level without timers");
  }
}
