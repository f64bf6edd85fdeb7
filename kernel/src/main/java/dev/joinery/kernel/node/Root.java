package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.State;
import java.util.List;

/**
 * Remembers the document of a row that a ToOne assembles, and as what it was sent; sends it when its
 * content changed, and a tombstone when it goes; where other products read it, to what its rows are
 * for. Of a document that went it remembers since when, for as long as a delete: what the address
 * sent that the row left before may still be on its way.
 *
 * <p>The row of its key travels as its order: a document has none.
 */
public final class Root implements Node {
  private static final Slice WHOLE = Slice.EMPTY;

  /** What is remembered is not a document, but that there is none since an epoch. */
  private static final int GONE = 2;

  private final SentDocument last;
  private final long retentionMicros;
  /** Null where nothing reads the documents, or a node of its own does. */
  private final RootReaders readers;
  /** Whether what readers know stands in state, though there may be none any more. */
  private final boolean keepsTold;

  public Root(DocumentProgram.RootProgram program, NodeContext context) {
    last = new SentDocument(program.product(), context);
    retentionMicros = context.program().tombstoneRetentionMicros();
    readers = program.read() == null ? null : new RootReaders(program, context);
    keepsTold = readers != null || Boolean.TRUE.equals(program.wasRead());
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    last.read(in);
    Child told = in == null || !keepsTold ? null : child(in.readBlob());
    Child kept = in == null ? null : child(in.rest());
    Child before = document(kept);
    long committed = stored == null ? state.highestForgottenBefore() : last.version();
    if (stored == null) {
      last.beginAbove(state.highestForgotten());
    }
    boolean wasSent = !last.isFailed();
    Child next = applied(kept, messages, committed);
    Child after = document(next);
    if (after == null) {
      last.sendGone(() -> before == null ? null : before.order(), timestamp, outbox);
    } else {
      SentDocument.Next document = new SentDocument.Next(after.row(), after.flags(), null, 0);
      last.send(document, after::order, timestamp, outbox);
    }
    if (readers == null) {
      write(next, null, timestamp, state);
      return;
    }
    // One that cannot be sent stands as it was before, in readers as in sinks.
    Child stood = told == null && before != null && wasSent ? before : told;
    Child stands = last.isFailed() ? stood : after;
    readers.tell(stood, stands, last.version(), timestamp, outbox);
    write(next, stands == after ? null : stands, timestamp, state);
  }

  @Override
  public void show(Slice key, State state, Outbox outbox) {
    byte[] stored = state.read();
    if (stored == null) {
      return;
    }
    Child document = document(kept(stored));
    if (document != null && !last.isIdle()) {
      SentDocument.Next row =
          new SentDocument.Next(document.row(), document.flags(), null, 0);
      last.show(row, document::order, outbox);
    }
  }

  /** Reads what was sent last, and returns the row that is kept. */
  private Child kept(byte[] stored) {
    ByteReader in = new ByteReader(stored);
    last.read(in);
    if (keepsTold) {
      in.readBlob();
    }
    return child(in.rest());
  }

  private static Child child(Slice encoded) {
    return encoded.isEmpty() ? null : Child.read(encoded);
  }

  private static Child document(Child kept) {
    return kept == null || (kept.flags() & GONE) != 0 ? null : kept;
  }

  private Child applied(Child kept, List<byte[]> messages, long committed) {
    ChildMessage newest = null;
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.CHILD_PUT, Message.CHILD_REMOVE -> {
          ChildMessage next = ChildMessage.read(message);
          newest = newest == null ? next : newest.newer(next);
        }
        case Message.PENDING -> last.reopen(Message.body(message), committed);
        default -> throw Message.unexpected(message);
      }
    }
    if (newest == null || kept != null && newest.epoch() < kept.epoch()) {
      return kept;
    }
    return newest.remove()
        ? Child.of(newest.epoch(), GONE, Slice.EMPTY, Slice.EMPTY)
        : newest.child();
  }

  /** {@code told} is what readers know where that is another document; else null. */
  private void write(Child kept, Child told, long timestamp, State state) {
    boolean gone = document(kept) == null && last.isIdle();
    boolean moves = kept != null && kept.epoch() > 0;
    if (gone && !moves && last.version() <= state.highestForgotten()) {
      state.clear();
      return;
    }
    ByteWriter out = new ByteWriter(64);
    last.write(out);
    if (keepsTold) {
      out.writeBlob(told == null ? Slice.EMPTY : told.encoded());
    }
    if (kept != null) {
      out.writeRaw(kept.encoded());
    }
    state.write(out.toBytes());
    if (gone) {
      state.expireAfter(timestamp + retentionMicros, WHOLE);
    }
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    byte[] stored = state.read();
    if (stored == null) {
      return;
    }
    Child kept = kept(stored);
    if (document(kept) != null || !last.isIdle()) {
      return;
    }
    long went = kept == null ? 0 : kept.epoch();
    long over = Math.max(last.version(), went) + retentionMicros;
    if (over < timestamp) {
      state.forget(last.version());
    } else {
      state.expireAfter(over, WHOLE);
    }
  }
}
