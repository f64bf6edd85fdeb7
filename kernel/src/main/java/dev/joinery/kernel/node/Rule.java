package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.RuleProgram;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * Remembers, under the columns that a pattern's rows are compared with, the row that gives them
 * their parameters, and the pattern's keys that have such rows; sends the row to each of these when
 * it asks, and when it is another.
 *
 * <p>A key is forgotten once the last of its rows that asked is too old to be in a match.
 */
public final class Rule implements Node {
  private static final Slice NOTHING = Slice.EMPTY;

  private final RuleProgram program;

  public Rule(RuleProgram program) {
    this.program = program;
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.latest(messages);
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    Slice before = in == null ? NOTHING : in.readBlob();
    EntryMap keys = EntryMap.read(in, state, 0);
    List<byte[]> changes = new ArrayList<>();
    Map<Slice, Long> asked = new HashMap<>();
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.CHILD_PUT, Message.CHILD_REMOVE -> changes.add(message);
        case Message.ASKED -> {
          ByteReader body = Message.body(message);
          long time = body.readLong();
          asked.merge(body.rest(), time, Math::max);
        }
        default -> throw Message.unexpected(message);
      }
    }
    Slice after = applied(before, changes);
    for (Slice each : keys.inPageOrder(asked.keySet(), Function.identity())) {
      note(each, asked.get(each), keys, state);
    }
    write(state, after, keys);
    asked.keySet().forEach(each -> tell(each, key, after, timestamp, outbox));
    if (!sameRow(before, after) && keys.size() > asked.size()) {
      outbox.later(tellingAll(keys, asked.keySet(), key, after, timestamp, outbox));
    }
  }

  private static Slice applied(Slice before, List<byte[]> changes) {
    ChildMessage newest = null;
    for (byte[] each : changes) {
      ChildMessage next = ChildMessage.read(each);
      newest = newest == null ? next : newest.newer(next);
    }
    boolean stale =
        newest == null
            || (!before.isEmpty() && newest.epoch() < Child.read(before).epoch());
    if (stale) {
      return before;
    }
    return newest.remove() ? NOTHING : newest.child().encoded();
  }

  private void note(Slice key, long time, EntryMap keys, State state) {
    Slice known = keys.get(key);
    if (known != null && new ByteReader(known).readLong() >= time) {
      return;
    }
    keys.put(key, Slice.of(new ByteWriter(Long.BYTES).writeLong(time).toBytes()));
    if (known == null) {
      forgetLater(key, time, state);
    }
  }

  private void forgetLater(Slice key, long time, State state) {
    if (program.isForgetting()) {
      int relation = program.relation();
      long over = Math.max(time + program.keptMicros(), state.watermark(relation)) + 1;
      state.expireAtWatermark(relation, over, key);
    }
  }

  @Override
  public void expire(Slice key, List<Slice> entries, long timestamp, State state) {
    byte[] stored = state.read();
    if (stored == null) {
      return;
    }
    ByteReader in = new ByteReader(stored);
    Slice row = in.readBlob();
    EntryMap keys = EntryMap.read(in, state, 0);
    long cut = state.watermark(program.relation()) - program.keptMicros();
    for (Slice each : keys.inPageOrder(Set.copyOf(entries), Function.identity())) {
      Slice known = keys.get(each);
      long time = known == null ? cut : new ByteReader(known).readLong();
      if (known != null && time < cut) {
        keys.remove(each);
      } else if (known != null) {
        forgetLater(each, time, state);
      }
    }
    write(state, row, keys);
  }

  private static void write(State state, Slice row, EntryMap keys) {
    ByteWriter out = new ByteWriter(256).writeBlob(row);
    keys.write(out);
    state.writeOrClear(out, row.isEmpty() && keys.size() == 0);
  }

  private Iterator<Runnable> tellingAll(
      EntryMap keys, Set<Slice> told, Slice value, Slice row, long timestamp, Outbox outbox) {
    return new Mapped<>(
        keys.iterator(),
        each ->
            () -> {
              if (!told.contains(each.key())) {
                tell(each.key(), value, row, timestamp, outbox);
              }
            });
  }

  private void tell(Slice key, Slice value, Slice row, long timestamp, Outbox outbox) {
    Slice known = row.isEmpty() ? null : Child.read(row).row();
    byte[] message = Message.rule(timestamp, program.place(), value, known);
    outbox.send(program.target(), key.toBytes(), message);
  }

  private static boolean sameRow(Slice one, Slice other) {
    if (one.isEmpty() || other.isEmpty()) {
      return one.isEmpty() && other.isEmpty();
    }
    return Child.read(one).sameContent(Child.read(other));
  }
}
