package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.CompiledProgram;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/** What a product is sent as is a change of the relation that its readers have. */
class ReadersTest {
  private static final StructType KEY = new StructType().add("kind", DataTypes.StringType);
  private static final StructType VALUE =
      KEY.add("n", DataTypes.LongType).add("unread", DataTypes.LongType);

  /** A relation of the columns n and kind over a product, whose rows a Retract keeps. */
  private static Program program(
      List<Program.ProductRead> reads, StructType ofKey, StructType ofValue) {
    List<Program.Slot> row =
        List.of(
            new Program.Slot("n", DataTypes.LongType),
            new Program.Slot("kind", DataTypes.StringType));
    StructType type =
        new StructType().add("n", DataTypes.LongType).add("kind", DataTypes.StringType);
    Program.AssemblerProgram view =
        new Program.AssemblerProgram(
            "totals", row, List.of(), List.of(), null, List.of(), new int[] {0, 1}, type);
    int[] key = {1};
    return new Program(
        1,
        List.of(new Program.RelationProgram("totals", row, key, 0, null, null, null, null)),
        List.of(new Program.RetractProgram("totals", 1, 0, List.of(), null, null)),
        List.of(view),
        List.of(new Program.ProductProgram("totals", ofKey, ofValue)),
        List.of(
            new Program.Route(
                0,
                0,
                Message.ROLE_PRIMARY,
                new Program.Address(key, new DataType[] {DataTypes.StringType}))),
        List.of(),
        1,
        1 << 20,
        reads,
        null);
  }

  private static Readers readers(List<Program.ProductRead> reads) {
    return readers(reads, KEY, VALUE);
  }

  private static Readers readers(
      List<Program.ProductRead> reads, StructType key, StructType value) {
    CompiledProgram program = new Compiler(null).compile(program(reads, key, value));
    return new Readers(0, new NodeContext(program, () -> null));
  }

  private static Slice row(StructType type, Object... values) {
    return BinaryRow.copy(UnsafeProjection.create(type).apply(new GenericInternalRow(values)));
  }

  private static RawChange told(Outbox outbox) {
    Tuple2<byte[], byte[]> sent = outbox.next();
    assertFalse(outbox.hasNext());
    byte[] message = Message.kind(sent._1()) == Message.RAW ? sent._1() : sent._2();
    assertEquals(0, Address.nodeOf(message == sent._1() ? sent._2() : sent._1()));
    return RawChange.read(message);
  }

  private static final List<Program.ProductRead> READ =
      List.of(new Program.ProductRead(0, 0, new int[] {2, 0}, null));

  @Test
  void aDocumentIsAnUpsertOfTheColumnsThatAreReadAtTheVersionAsItsPlace() {
    Outbox outbox = new Outbox();
    UTF8String kind = UTF8String.fromString("a");

    readers(READ).tell(row(KEY, kind), row(VALUE, kind, 5L, 6L), 7, 1, outbox);

    RawChange change = told(outbox);
    UnsafeRow columns = BinaryRow.of(change.row(), 2);
    assertEquals(Message.OP_UPSERT, change.op());
    assertEquals(List.of(7L, 0L), List.of(change.major(), change.minor()));
    assertEquals(List.of(5L, kind), List.of(columns.getLong(0), columns.getUTF8String(1)));
  }

  @Test
  void aColumnOfAnObjectOfTheKeyIsReadByItself() {
    Outbox outbox = new Outbox();
    StructType start = new StructType().add("id", DataTypes.LongType);
    StructType key = KEY.add("start", start);
    StructType value = key.add("n", DataTypes.LongType);
    List<Program.ProductRead> read =
        List.of(new Program.ProductRead(0, 0, new int[] {1, 0}, new int[] {0, -1}));
    UTF8String kind = UTF8String.fromString("a");
    Object object = new GenericInternalRow(new Object[] {9L});

    readers(read, key, value)
        .tell(row(key, kind, object), row(value, kind, object, 5L), 7, 1, outbox);
    UnsafeRow columns = BinaryRow.of(told(outbox).row(), 2);

    assertEquals(List.of(9L, kind), List.of(columns.getLong(0), columns.getUTF8String(1)));
  }

  @Test
  void aTombstoneIsADeleteThatHasTheKeyAlone() {
    Outbox outbox = new Outbox();

    readers(READ).tell(row(KEY, UTF8String.fromString("a")), null, 8, 1, outbox);

    RawChange change = told(outbox);
    UnsafeRow columns = BinaryRow.of(change.row(), 2);
    assertEquals(Message.OP_DELETE, change.op());
    assertTrue(columns.isNullAt(0));
    assertEquals("a", columns.getUTF8String(1).toString());
  }

  @Test
  void aProductThatNobodyReadsTellsNobody() {
    Outbox outbox = new Outbox();

    readers(List.of()).tell(row(KEY, UTF8String.fromString("a")), null, 8, 1, outbox);

    assertFalse(outbox.hasNext());
  }
}
