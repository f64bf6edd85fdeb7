package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.Expiry;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/** A row that stands is told to nodes that came after it, and to no others. */
class RetractTest {
  private static final StructType TYPE = new StructType().add("id", DataTypes.LongType);
  private static final Slice KEY = Slice.of(new byte[] {1});
  private static final int ADDED = 2;

  private final Expiry expiry = new Expiry(nothing(), 1_000_000);
  private final MemoryState state =
      new MemoryState(Address.of(0, KEY.toBytes()), () -> expiry);
  private final Retract retract = retract();

  private static Expiry.Store nothing() {
    Map<Slice, byte[]> kept = new HashMap<>();
    return new Expiry.Store() {
      @Override
      public byte[] get(byte[] address) {
        return kept.get(Slice.of(address));
      }

      @Override
      public void put(byte[] address, byte[] bytes) {
        kept.put(Slice.of(address), bytes);
      }

      @Override
      public void remove(byte[] address) {
        kept.remove(Slice.of(address));
      }
    };
  }

  private static Retract retract() {
    List<Program.Slot> row = List.of(new Program.Slot("id", DataTypes.LongType));
    Program.AssemblerProgram view =
        new Program.AssemblerProgram(
            "user", row, List.of(), List.of(), null, List.of(), new int[] {0}, TYPE);
    Program.RetractProgram rows =
        new Program.RetractProgram(
            "user",
            1,
            0,
            List.of(new Program.OwnUse(1, null), new Program.OwnUse(ADDED, null)),
            null,
            null);
    Program program =
        new Program(
            2,
            List.of(new Program.RelationProgram("user", row, new int[] {0}, 0, null, null, null, null)),
            List.of(
                rows,
                new Program.RemovedProgram("before", 2, false),
                new Program.RemovedProgram("added", 2, false)),
            List.of(view),
            List.of(),
            List.of(),
            List.of(),
            1,
            1 << 20,
            List.of(),
            null);
    return new Retract(rows, new NodeContext(new Compiler(null).compile(program), () -> null));
  }

  private static byte[] change(int op, long timestamp, long line) {
    Slice row =
        BinaryRow.copy(
            UnsafeProjection.create(TYPE).apply(new GenericInternalRow(new Object[] {1L})));
    Change change = new Change(op, false, 0, 0, line, null);
    return Message.raw(timestamp, 0, Message.ROLE_PRIMARY, change, row);
  }

  private List<Tuple2<byte[], byte[]>> sent(byte[] message) {
    Outbox outbox = new Outbox();
    retract.handle(KEY, List.of(message), state, outbox);
    List<Tuple2<byte[], byte[]>> sent = new ArrayList<>();
    outbox.forEachRemaining(sent::add);
    return sent;
  }

  private static byte[] message(Tuple2<byte[], byte[]> sent) {
    return Message.kind(sent._1()) == Message.OWN_PUT ? sent._1() : sent._2();
  }

  private static long epoch(byte[] message) {
    return Message.body(message).readLong();
  }

  @Test
  void aRowThatStandsIsToldToNodesThatWereAddedAndRisesAboveWhatWasForgotten() {
    assertEquals(2, sent(change(Message.OP_UPSERT, 10, 1)).size());

    List<Tuple2<byte[], byte[]>> told = sent(Message.tell(50, ADDED));
    List<Tuple2<byte[], byte[]>> gone = sent(change(Message.OP_DELETE, 50, 2));

    assertEquals(1, told.size());
    byte[] put = message(told.get(0));
    assertEquals(Message.OWN_PUT, Message.kind(put));
    byte[] address = put == told.get(0)._1() ? told.get(0)._2() : told.get(0)._1();
    assertEquals(ADDED, Address.nodeOf(address));
    assertEquals(50, epoch(put));
    assertEquals(2, gone.size());
    assertTrue(gone.stream().allMatch(each -> hasEpoch(each, 51)));
  }

  private static boolean hasEpoch(Tuple2<byte[], byte[]> sent, long epoch) {
    byte[] remove = Message.kind(sent._1()) == Message.OWN_REMOVE ? sent._1() : sent._2();
    return epoch(remove) == epoch;
  }

  @Test
  void aRowThatIsGoneIsToldToNobody() {
    sent(change(Message.OP_UPSERT, 10, 1));
    sent(change(Message.OP_DELETE, 20, 2));

    assertFalse(sent(Message.tell(50, ADDED)).iterator().hasNext());
  }
}
