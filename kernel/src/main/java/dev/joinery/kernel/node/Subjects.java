package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * Remembers, under a subject, the keys of the rows in which something was sealed for it; sends an
 * erasure of the subject to each of these rows.
 *
 * <p>A key stays until its subject is erased, also where its row was deleted or is another's now: an
 * erasure leaves alone what was not sealed for its subject.
 */
public final class Subjects implements Node {
  private static final int KEYS = 0;

  private final NodeContext context;
  private final List<Program.Route> rows = new ArrayList<>();

  public Subjects(Program.SubjectsProgram program, NodeContext context) {
    this.context = context;
    for (Program.Route route : context.program().routes()) {
      boolean own =
          context.program().nodes().get(route.node()) instanceof Program.SubjectsProgram;
      if (route.relation() == program.relation() && !own) {
        rows.add(route);
      }
    }
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    byte[] stored = state.read();
    EntryMap keys = EntryMap.read(stored == null ? null : new ByteReader(stored), state, KEYS);
    long before = keys.size();
    List<RawChange> erasures = new ArrayList<>();
    for (byte[] message : messages) {
      if (Message.kind(message) == Message.SUBJECT) {
        Slice row = Message.body(message).rest();
        if (keys.get(row) == null) {
          keys.put(row, Slice.EMPTY);
        }
      } else {
        erasures.add(RawChange.read(message));
      }
    }
    if (!erasures.isEmpty()) {
      long timestamp = Message.timestamp(messages.get(0));
      erasures.forEach(each -> tell(each, keys.iterator(), timestamp, outbox));
      keys.clear();
      state.clear();
    } else if (keys.size() != before) {
      ByteWriter out = new ByteWriter(256);
      keys.write(out);
      state.write(out.toBytes());
    }
  }

  private void tell(
      RawChange erasure, Iterator<EntryMap.Entry> keys, long timestamp, Outbox outbox) {
    Change change =
        new Change(Message.OP_ERASE, false, 0, erasure.major(), erasure.minor(), null).ofSnapshot();
    while (keys.hasNext()) {
      byte[] key = keys.next().key().toBytes();
      for (Program.Route route : rows) {
        byte[] message =
            Message.raw(timestamp, route.relation(), route.role(), change, erasure.row());
        outbox.send(route.node(), context.program().buckets().get(route.node()).of(key), message);
      }
    }
  }
}
