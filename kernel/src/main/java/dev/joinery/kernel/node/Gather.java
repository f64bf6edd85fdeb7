package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.FannedMessage;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Remembers, under one join value of parents, those parents, and what each FanOut that they are led
 * to has told of its children, in one order; sends each parent's Fold what changed among the first
 * ones, and a new parent all of these.
 */
public final class Gather implements Node {
  private static final int PARENTS = 0;
  private static final int ROWS = 1;

  private final DocumentProgram.GatherProgram program;
  private final HotValues hot;

  public Gather(DocumentProgram.GatherProgram program) {
    this.program = program;
    this.hot = new HotValues(program.valueTypes(), program.hot());
  }

  /** What became of the list. */
  private record Change(List<ChildDelta> rows, boolean told) {
    static final Change NONE = new Change(List.of(), false);
  }

  @Override
  public void handle(Slice key, List<byte[]> messages, State state, Outbox outbox) {
    long timestamp = Message.timestamp(messages.get(0));
    byte[] stored = state.read();
    ByteReader in = stored == null ? null : new ByteReader(stored);
    long total = in == null ? 0 : in.readVarLong();
    hot.read(in);
    Parents parents =
        Parents.read(in == null ? null : new ByteReader(in.readBlob()), state, PARENTS, program.fold());
    GatheredRows rows = GatheredRows.read(in, state, ROWS);
    List<FannedMessage.Reader> fanned = sort(messages, parents);
    parents.apply();
    long totalAfter = total + fanned.stream().mapToLong(FannedMessage.Reader::more).sum();
    Slice hotBefore = hot.row();
    List<ChildDelta> changes = apply(fanned, rows, parents.hasOld());
    Slice hotAfter = hot.row();
    write(state, totalAfter, parents, rows);
    if (parents.hasNew()) {
      BranchContents contents =
          new BranchContents(program.branch(), totalAfter, hotAfter, items(rows));
      parents.tellNew(List.of(contents), program.limit() == 0, timestamp, outbox);
    }
    boolean changed =
        !changes.isEmpty() || program.total() && total != totalAfter || !hotBefore.equals(hotAfter);
    if (changed && parents.hasOld()) {
      List<BranchMessage> told = new ArrayList<>(1);
      ChildDelta.tell(changes, program.branch(), totalAfter, hotAfter, told);
      parents.tellOld(told, timestamp, outbox);
    }
  }

  private static List<FannedMessage.Reader> sort(List<byte[]> messages, Parents parents) {
    List<FannedMessage.Reader> fanned = new ArrayList<>();
    for (byte[] message : messages) {
      switch (Message.kind(message)) {
        case Message.FANNED -> fanned.add(new FannedMessage.Reader(message));
        case Message.PARENT_PUT, Message.PARENT_REMOVE -> parents.announce(message);
        default -> throw Message.unexpected(message);
      }
    }
    return fanned;
  }

  /** Applies what was told; gives what became of the rows that are kept, where anybody asks. */
  private List<ChildDelta> apply(
      List<FannedMessage.Reader> fanned, GatheredRows rows, boolean isAsked) {
    boolean limited = program.limit() > 0 && isAsked && program.entries() && !fanned.isEmpty();
    List<TopRows.Item> before = limited ? first(rows) : List.of();
    Map<Slice, ChildDelta> changes = new LinkedHashMap<>();
    for (FannedMessage.Reader each : fanned) {
      switch (each.heat()) {
        case HOT -> hot.add(each.value());
        case COLD -> hot.remove(each.value());
        case SAME -> {}
      }
      while (each.hasNext()) {
        ChildDelta change = rows.apply(each.value(), each.next());
        if (change != null && program.limit() == 0) {
          changes.merge(change.key(), change, Gather::together);
        }
      }
    }
    return limited ? ChildDelta.between(before, first(rows)) : List.copyOf(changes.values());
  }

  /** A child that moves in the order is told once: messages about one may overtake each other. */
  private static ChildDelta together(ChildDelta earlier, ChildDelta later) {
    return new ChildDelta(later.key(), earlier.before(), later.after());
  }

  private List<TopRows.Item> first(GatheredRows rows) {
    List<TopRows.Item> first = new ArrayList<>(program.limit());
    rows.items(program.limit()).forEach(first::add);
    return first;
  }

  private Iterable<TopRows.Item> items(GatheredRows rows) {
    return program.entries() ? rows.items(program.limit()) : List.of();
  }

  private void write(State state, long total, Parents parents, GatheredRows rows) {
    ByteWriter told = new ByteWriter(64);
    parents.write(told);
    ByteWriter out = new ByteWriter(1024).writeVarLong(total);
    hot.write(out);
    out.writeBlob(new Slice(told.array(), 0, told.size()));
    rows.write(out);
    state.writeOrClear(out, parents.isEmpty() && rows.isEmpty() && total == 0 && hot.isEmpty());
  }
}
