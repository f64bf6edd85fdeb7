package dev.joinery.kernel;

import java.util.List;

/** A keyed node of a level: takes all messages of one address of one batch, and sends others. */
sealed interface Node permits Retract, Lookup, Match, Fold, Enrich, AsOf, Claim {
  /** Handles {@code messages}, which come in any order, for the address whose state is given. */
  void handle(Slice key, List<byte[]> messages, State state, Outbox outbox);

  /** Called once a time has come that {@link State#wakeAt} asked for. */
  default void wake(long timestamp, State state, Outbox outbox) {}
}
