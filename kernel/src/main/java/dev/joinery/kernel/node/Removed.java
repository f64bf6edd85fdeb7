package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.state.State;
import java.util.List;

/**
 * Stands for a node whose product was removed; sends nothing, and forgets what that node remembered
 * where it had asked to be called.
 */
public final class Removed implements Node {
  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    throw new IllegalStateException("a message to a node whose product was removed");
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    state.clear();
  }

  @Override
  public void wake(Slice key, long timestamp, State state, Outbox outbox) {
    state.clear();
  }
}
