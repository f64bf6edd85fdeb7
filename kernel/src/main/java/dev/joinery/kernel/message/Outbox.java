package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
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
public final class Outbox implements Iterator<Tuple2<byte[], byte[]>> {
  private final ArrayDeque<Tuple2<byte[], byte[]>> ready = new ArrayDeque<>();
  private final ArrayDeque<Iterator<Runnable>> steps = new ArrayDeque<>();
  private int spread;

  public Outbox() {
    this(0);
  }

  /** {@code spread}: where what leaves the chain goes first; another one for each sender. */
  public Outbox(int spread) {
    this.spread = spread;
  }

  /** Of a node that was called by this address. */
  public static Outbox at(byte[] address) {
    return new Outbox(new ByteReader(address, 0, 4).readInt());
  }

  public void send(int node, byte[] key, byte[] message) {
    ready.add(new Tuple2<>(message, Address.of(node, key)));
  }

  /**
   * Sends a message out of the chain, past all later levels, each of which gives it to another task
   * than the one before it.
   */
  public void emit(byte[] message) {
    ByteWriter out = new ByteWriter(8).writeInt(spread++ * 0x9E3779B9).writeVarInt(Address.OUTPUT);
    ready.add(new Tuple2<>(message, out.toBytes()));
  }

  public void pass(byte[] message, byte[] address) {
    ready.add(new Tuple2<>(message, address));
  }

  public void later(Iterator<Runnable> moreSteps) {
    steps.add(moreSteps);
  }

  /** Runs a step later, again and again while it returns true. */
  public void repeat(BooleanSupplier step) {
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

  public boolean isLazy() {
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
}
