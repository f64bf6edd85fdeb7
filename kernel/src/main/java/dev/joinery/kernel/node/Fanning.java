package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.FannedMessage;
import dev.joinery.kernel.message.FannedMessage.Heat;
import dev.joinery.kernel.message.Outbox;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * What a FanOut tells many: the messages are made once, or, where they hold all children of a large
 * list, again for each receiver, one at a time.
 */
final class Fanning {
  private static final int MANY = 256;

  private final int target;
  private final int branch;
  private final Slice value;
  private final long timestamp;
  private final boolean anew;
  private final Outbox outbox;

  /** {@code anew}: messages are too large to be held. */
  Fanning(int target, int branch, Slice value, long timestamp, boolean anew, Outbox outbox) {
    this.target = target;
    this.branch = branch;
    this.value = value;
    this.timestamp = timestamp;
    this.anew = anew;
    this.outbox = outbox;
  }

  /** What is told: whether the value became hot, how many more children there are, which changed. */
  record Told(Heat heat, long more, Iterable<ChildDelta> changes) {
    static Told of(Heat heat) {
      return new Told(heat, 0, List.of());
    }
  }

  /** Tells receivers, of which there are {@code count}: many lazily. */
  void tell(Iterator<Slice> receivers, long count, Told told) {
    if (count == 0) {
      return;
    }
    Iterable<byte[]> messages = messages(told);
    if (!messages.iterator().hasNext()) {
      return;
    }
    Iterator<Runnable> steps = new Steps(receivers, messages);
    if (anew || count > MANY) {
      outbox.later(steps);
    } else {
      steps.forEachRemaining(Runnable::run);
    }
  }

  private Iterable<byte[]> messages(Told told) {
    Iterable<byte[]> made = () -> new Messages(told);
    if (anew) {
      return made;
    }
    List<byte[]> held = new ArrayList<>(1);
    made.forEach(held::add);
    return held;
  }

  /** Sends each receiver each message, a message a step. */
  private final class Steps implements Iterator<Runnable> {
    private final Iterator<Slice> receivers;
    private final Iterable<byte[]> messages;
    private Iterator<byte[]> left = List.<byte[]>of().iterator();
    private byte[] receiver;

    Steps(Iterator<Slice> receivers, Iterable<byte[]> messages) {
      this.receivers = receivers;
      this.messages = messages;
    }

    @Override
    public boolean hasNext() {
      return left.hasNext() || receivers.hasNext();
    }

    @Override
    public Runnable next() {
      if (!left.hasNext()) {
        receiver = receivers.next().toBytes();
        left = messages.iterator();
      }
      byte[] to = receiver;
      byte[] message = left.next();
      return () -> outbox.send(target, to, message);
    }
  }

  /** The messages of what is told, made one at a time. */
  private final class Messages implements Iterator<byte[]> {
    private final Told told;
    private final Iterator<ChildDelta> changes;
    private boolean begun;

    Messages(Told told) {
      this.told = told;
      this.changes = told.changes().iterator();
    }

    @Override
    public boolean hasNext() {
      return changes.hasNext() || !begun && (told.more() != 0 || told.heat() != Heat.SAME);
    }

    @Override
    public byte[] next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      FannedMessage message =
          begun
              ? new FannedMessage(branch, value, 0, Heat.SAME)
              : new FannedMessage(branch, value, told.more(), told.heat());
      begun = true;
      while (changes.hasNext() && !message.isFull()) {
        add(changes.next(), message);
      }
      return message.toBytes(timestamp);
    }

    private static void add(ChildDelta change, FannedMessage message) {
      Child before = change.before();
      Child after = change.after();
      if (before != null && (after == null || !after.order().equals(before.order()))) {
        message.remove(change.key(), before.order());
      }
      if (after != null) {
        message.put(change.key(), after);
      }
    }
  }
}
