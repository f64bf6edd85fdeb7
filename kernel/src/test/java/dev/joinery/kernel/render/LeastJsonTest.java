package dev.joinery.kernel.render;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class LeastJsonTest {
  private static void check(String ddl, String least, Object... values) {
    ByteSink out = new ByteSink(64);
    StructType type = StructType.fromDDL(ddl);
    new JsonWriter(type).write(new GenericInternalRow(values), out);
    assertEquals(least, new String(out.array(), 0, out.size(), StandardCharsets.UTF_8));
    assertEquals(out.size(), LeastJson.of(type));
  }

  @Test
  void theShortestValueOfEachTypeHasSoManyBytes() {
    GenericArrayData none = new GenericArrayData(new Object[0]);
    check("a bigint, `ü` string", "{\"a\":1,\"ü\":\"\"}", 1L, UTF8String.EMPTY_UTF8);
    check("a boolean, b boolean", "{\"a\":true,\"b\":null}", true, null);
    check("a array<bigint>, b binary", "{\"a\":[],\"b\":\"\"}", none, new byte[0]);
    check("a map<string, bigint>", "{\"a\":{}}", new ArrayBasedMapData(none, none));
    check("a struct<b: bigint>, c int", "{\"a\":null,\"c\":0}", null, 0);
  }
}
