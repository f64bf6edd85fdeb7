package dev.joinery.kernel.ingress;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.Program;
import java.math.BigDecimal;
import java.util.List;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** Roots are read from the text of their keys, as sinks hold them. */
class PendingRootsTest {
  private static final StructType KEY =
      new StructType().add("price", DataTypes.createDecimalType(38, 18));

  private static Program program() {
    GroupProgram group =
        new GroupProgram("totals", 1, 0, 0, 1, null, null, null, List.of(), 0, 0, null, null);
    return new Program(
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
  }

  @Test
  void aKeyKeepsAllItsDigits() {
    String price = "12345678901234567890.123456789012345678";
    String told =
        String.format(
            "{\"product\":\"totals\",\"key\":\"{\\\"price\\\":%s}\",\"version\":7}", price);

    PendingRoots.Root root = new PendingRoots(program()).read(told);

    assertEquals(7, root.version());
    assertEquals(
        new BigDecimal(price),
        BinaryRow.of(Slice.of(root.key()), 1).getDecimal(0, 38, 18).toJavaBigDecimal());
  }
}
