package dev.joinery.kernel.ingress;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.GroupProgram.SessionProgram;
import dev.joinery.kernel.program.Program;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Documents are found by the first columns of their keys. */
class KeyPrefixTest {
  private static final DataType[] TYPES = {DataTypes.StringType, DataTypes.LongType};
  private static final StructType KEY =
      new StructType().add("shop", TYPES[0]).add("number", TYPES[1]);

  private static KeyPrefix prefix(SessionProgram session, int columns, String json) {
    GroupProgram group =
        new GroupProgram("totals", 1, 0, 0, 1, null, session, null, List.of(), 0, 0, null, null);
    Program program =
        new Program(
            1,
            List.of(),
            List.of(group),
            List.of(),
            List.of(new Program.ProductProgram("totals", KEY, new StructType())),
            List.of(),
            null,
            0,
            0,
            null,
            null);
    return new KeyPrefix(program, "totals", columns, json);
  }

  private static GenericInternalRow row(String shop, long number) {
    return new GenericInternalRow(new Object[] {UTF8String.fromString(shop), number});
  }

  private static byte[] address(int node, String shop, long number) {
    return Address.of(node, KeyCodec.of(TYPES).encode(row(shop, number)));
  }

  private static byte[] address(String shop) {
    return Address.of(0, KeyCodec.of(new DataType[] {TYPES[0]}).encode(row(shop, 0)));
  }

  private static Slice key(String shop, long number) {
    return BinaryRow.copy(UnsafeProjection.create(TYPES).apply(row(shop, number)));
  }

  @Test
  void theFirstColumnsOfAKeyAreThoseOfItsAddress() {
    KeyPrefix some = prefix(null, 1, "{\"shop\":\"a\"}");

    assertTrue(some.mayBeAt(address(0, "a", 1)));
    assertFalse(some.mayBeAt(address(0, "ab", 1)));
    assertFalse(some.mayBeAt(address(1, "a", 1)));
    assertTrue(some.has(key("a", 1)));
    assertNull(some.address());
  }

  @Test
  void withoutAValueItIsAllDocuments() {
    KeyPrefix all = prefix(null, 0, "{}");

    assertTrue(all.mayBeAt(address(0, "a", 1)));
    assertNull(all.address());
    assertEquals(0, all.product());
  }

  @Test
  void aWholeKeyIsOneAddress() {
    assertArrayEquals(
        address(0, "a", 7), prefix(null, 2, "{\"shop\":\"a\",\"number\":7}").address());
  }

  @Test
  void timesBehindTheAddressTellDocumentsOfOneAddressApart() {
    SessionProgram session = new SessionProgram(1, 0, false);
    KeyPrefix one = prefix(session, 2, "{\"shop\":\"a\",\"number\":7}");

    assertArrayEquals(address("a"), one.address());
    assertTrue(one.has(key("a", 7)));
    assertFalse(one.has(key("a", 8)));
    assertTrue(one.has("{\"shop\":\"a\",\"number\":7}"));
    assertFalse(one.has("{\"shop\":\"a\",\"number\":8}"));
    assertArrayEquals(address("a"), prefix(session, 1, "{\"shop\":\"a\"}").address());
  }
}
