package dev.joinery.kernel;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.BooleanSupplier;
import scala.Tuple2;

/**
 * What a node sends: remembers messages until the next operator takes them.
 *
 * <p>A fan-out too large to hold is given as steps ({@link #later}); each runs when all messages
 * before it have been taken. Steps run in the order in which they were given.
 */
final class Outbox implements Iterator<Tuple2<byte[], byte[]>> {
  /** The address of what leaves the chain; it is not a node's. */
  static final int OUTPUT = 0;

  /** The number under which a level's own notes stand; no program has so many nodes. */
  static final int EXPIRY = Integer.MAX_VALUE - 1;

  private final ArrayDeque<Tuple2<byte[], byte[]>> ready = new ArrayDeque<>();
  private final ArrayDeque<Iterator<Runnable>> steps = new ArrayDeque<>();
  private int spread;

  Outbox() {
    this(0);
  }

  /** {@code spread}: where what leaves the chain goes first; another one for each sender. */
  Outbox(int spread) {
    this.spread = spread;
  }

  /** Of a node that was called by this address. */
  static Outbox at(byte[] address) {
    return new Outbox(new ByteReader(address, 0, 4).readInt());
  }

  void send(int node, byte[] key, byte[] message) {
    ready.add(new Tuple2<>(message, address(node, key)));
  }

  /**
   * Sends a message out of the chain, past all later levels, each of which gives it to another task
   * than the one before it.
   */
  void emit(byte[] message) {
    ByteWriter out = new ByteWriter(8).writeInt(spread++ * 0x9E3779B9).writeVarInt(OUTPUT);
    ready.add(new Tuple2<>(message, out.toBytes()));
  }

  void pass(byte[] message, byte[] address) {
    ready.add(new Tuple2<>(message, address));
  }

  void later(Iterator<Runnable> moreSteps) {
    steps.add(moreSteps);
  }

  /** Runs a step later, again and again while it returns true. */
  void repeat(BooleanSupplier step) {
    later(
        new Iterator<>() {
          private boolean more = true;

          @Override
          public boolean hasNext() {
            return more;
          }

          @Override
          public Runnable next() {
            return () -> more = step.getAsBoolean();
          }
        });
  }

  boolean isLazy() {
    return !steps.isEmpty();
  }

  @Override
  public boolean hasNext() {
    while (ready.isEmpty() && !steps.isEmpty()) {
      if (steps.peek().hasNext()) {
        steps.peek().next().run();
      } else {
        steps.poll();
      }
    }
    return !ready.isEmpty();
  }

  @Override
  public Tuple2<byte[], byte[]> next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return ready.poll();
  }

  /**
   * A node's address: a hash, so that sorting by the first bytes tells addresses apart, then the
   * node (from 1, 0 being the output) and the key.
   */
  static byte[] address(int node, byte[] key) {
    ByteWriter out = new ByteWriter(key.length + 8);
    out.writeInt(Hash.of(key, 0, key.length) + node * 0x9E3779B9);
    return out.writeVarInt(node + 1).writeRaw(key).toBytes();
  }

  /**
   * Where a page of an address's state stands: beside it, under the number of the output, which has
   * no state.
   */
  static byte[] addressOfPage(byte[] address, int page) {
    ByteWriter out = new ByteWriter(address.length + 6);
    out.writeRaw(address, 0, 4).writeVarInt(OUTPUT).writeVarInt(page);
    return out.writeRaw(address, 4, address.length - 4).toBytes();
  }

  /** The node an address names; -1 for the output. */
  static int nodeOf(byte[] address) {
    return new ByteReader(address, 4, address.length - 4).readVarInt() - 1;
  }

  static Slice keyOf(byte[] address) {
    ByteReader in = new ByteReader(address, 4, address.length - 4);
    in.readVarInt();
    return in.rest();
  }
}
