package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.FannedMessage;
import dev.joinery.kernel.message.FannedMessage.Heat;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

/** What the Fold of a parent hears of the children of several join values. */
class GatherTest {
  private static final Slice AUTHOR = bytes(7);

  private final Gather gather =
      new Gather(
          new DocumentProgram.GatherProgram(
              "p/posts", 1, 0, true, true, new DataType[] {DataTypes.LongType}, null, 0, 0));
  private final MemoryState state = new MemoryState();

  private static Slice bytes(int number) {
    return Slice.of(new ByteWriter().writeInt(number).toBytes());
  }

  private static Child child(int order) {
    return Child.of(1, 0, bytes(order), bytes(order));
  }

  /** The keys of the children that the Fold hears of, in the order of the entries. */
  private List<Slice> batch(byte[]... messages) {
    Outbox outbox = new Outbox();
    gather.handle(bytes(1), List.of(messages), state, outbox);
    List<Slice> told = new ArrayList<>();
    while (outbox.hasNext()) {
      BranchMessage.Sections sections = new BranchMessage.Sections(outbox.next()._1());
      while (sections.hasNext()) {
        ByteReader in = sections.next().body();
        in.readVarLong();
        in.readBlob();
        while (in.hasMore()) {
          boolean put = in.readByte() == 1;
          told.add(in.readBlob().detach());
          if (put) {
            in.readBlob();
          }
        }
      }
    }
    return told;
  }

  @Test
  void aChildThatMovesInTheOrderIsToldOnce() {
    FannedMessage came = new FannedMessage(0, AUTHOR, 2, Heat.SAME);
    came.put(bytes(10), child(1));
    came.put(bytes(11), child(2));
    batch(ParentMessage.put(1, 1, new byte[] {3}, Slice.EMPTY), came.toBytes(1));

    FannedMessage moved = new FannedMessage(0, AUTHOR, 0, Heat.SAME);
    for (int key = 10; key < 12; key++) {
      moved.remove(bytes(key), bytes(key - 9));
      moved.put(bytes(key), child(key + 20));
    }
    List<Slice> told = batch(moved.toBytes(2));

    Set<Slice> once = new HashSet<>(told);
    assertEquals(2, once.size());
    assertEquals(2, told.size());
  }
}
