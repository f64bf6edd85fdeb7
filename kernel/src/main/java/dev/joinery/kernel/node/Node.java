package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.state.State;
import java.util.List;

/** A keyed node of a level: takes all messages of one address of one batch, and sends others. */
public interface Node {
  /** Handles {@code messages}, which come in any order, for the address whose state is given. */
  void handle(Slice key, List<byte[]> messages, State state, Outbox outbox);

  /**
   * Called after a time that {@link State#expireAfter} was told, once an entry or more: forgets what
   * is over. It sends nothing, for nothing that is sent may depend on when it is called.
   */
  default void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    throw new UnsupportedOperationException("a node that has nothing to forget");
  }

  /** Called once a time has come that {@link State#wakeAt} asked for. */
  default void wake(long timestamp, State state, Outbox outbox) {
    throw new UnsupportedOperationException("a node that asks for no time");
  }
}
