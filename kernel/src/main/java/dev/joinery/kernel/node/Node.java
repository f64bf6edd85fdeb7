package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.state.State;
import java.util.List;

/** A keyed node of a level: takes all messages of one address of one batch, and sends others. */
public interface Node {
  /** In real time, when one of the messages that have come is handled. */
  enum Turn {
    /** By itself, in the order in which it came. */
    ALONE,

    /** Together with all that has come to its address and is not {@link #LATER}. */
    TOGETHER,

    /** Together with others of its kind, once nothing else is there. Others may overtake it. */
    LATER
  }

  /** Handles {@code messages}, which come in any order, for the address whose state is given. */
  void handle(Slice key, List<byte[]> messages, State state, Outbox outbox);

  /** The turn of a message that came to this node in real time. */
  default Turn turnOf(byte[] message) {
    return Turn.ALONE;
  }

  /**
   * Called after a time that {@link State#expireAfter} was told, once an entry or more: forgets what
   * is over. It sends nothing, for nothing that is sent may depend on when it is called.
   */
  default void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    throw new UnsupportedOperationException("a node that has nothing to forget");
  }

  /**
   * Sends what sinks were given of an address and hold now, each document under the version it has,
   * where the state tells that, else 0; or why it cannot be sent. It alters nothing.
   */
  default void show(Slice key, State state, Outbox outbox) {
    throw new UnsupportedOperationException("a node that gives sinks nothing");
  }

  /**
   * Says which row stands at an address, and what the row has below it. It alters nothing.
   *
   * @param parent the key of a row above that is asked for with it, or null
   */
  default void trace(Slice key, Slice parent, State state, Tracing tracing) {
    throw new UnsupportedOperationException("a node without rows of documents");
  }

  /** Called once a time has come that {@link State#wakeAt} asked for. */
  default void wake(Slice key, long timestamp, State state, Outbox outbox) {
    throw new UnsupportedOperationException("a node that asks for no time");
  }
}
