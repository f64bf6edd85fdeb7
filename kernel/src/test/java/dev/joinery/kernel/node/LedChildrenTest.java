package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.FannedMessage;
import dev.joinery.kernel.message.FannedMessage.Heat;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** What a Fold keeps of the children that rows lead it to, written and read with each batch. */
class LedChildrenTest {
  private static final int LIMIT = 3;
  private static final Slice AUTHOR = bytes(7);

  private final LedChildren led =
      new LedChildren(
          new DocumentProgram.BranchProgram(
              "posts",
              DocumentProgram.Shape.LIST,
              new StructType().add("id", DataTypes.LongType),
              false,
              new DataType[0],
              true,
              0,
              List.of(),
              null,
              null,
              null,
              new DocumentProgram.Gathers(LIMIT, new DataType[] {DataTypes.LongType})),
          1);
  private final MemoryState state = new MemoryState();
  private final TreeMap<Integer, Integer> expected = new TreeMap<>();
  private byte[] stored;

  private static Slice bytes(int number) {
    return Slice.of(new ByteWriter().writeInt(number).toBytes());
  }

  private static Child child(int order, int size) {
    byte[] row = new byte[size];
    row[0] = (byte) order;
    return Child.of(1, 0, bytes(order), Slice.of(row));
  }

  private void batch(FannedMessage message) {
    led.read(stored == null ? null : new ByteReader(stored), state);
    led.apply(List.of(new FannedMessage.Reader(message.toBytes(1))));
    assertFirst();
    ByteWriter out = new ByteWriter(64);
    led.write(out);
    stored = out.toBytes();
    led.read(new ByteReader(stored), state);
    assertFirst();
  }

  private void assertFirst() {
    List<Integer> told = new ArrayList<>();
    led.first().forEach(each -> told.add((int) each.child().row().array()[each.child().row().offset()]));
    assertEquals(expected.values().stream().limit(LIMIT).toList(), told);
    assertEquals(expected.size(), led.total());
  }

  private void comeAndGo(Random random, int keys, int batches, int size) {
    for (int i = 0; i < batches; i++) {
      int key = random.nextInt(keys);
      boolean goes = expected.remove(key) != null;
      FannedMessage message = new FannedMessage(0, AUTHOR, goes ? -1 : 1, Heat.SAME);
      if (goes) {
        message.remove(bytes(key), bytes(key));
      } else {
        expected.put(key, key);
        message.put(bytes(key), child(key, size));
      }
      batch(message);
    }
  }

  @Test
  void theFirstAreShownAndAllAreCounted() {
    comeAndGo(new Random(3), 12, 200, 16);

    assertTrue(!led.isPaged());
  }

  @Test
  void manyAreInPagesUntilTheyGo() {
    comeAndGo(new Random(5), 60, 300, 1024);

    assertTrue(led.isPaged());
    led.clear();
    assertTrue(led.isEmpty());
    assertEquals(0, state.pageCount());
  }
}
