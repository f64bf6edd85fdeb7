package dev.joinery.kernel.ingress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.message.Counters;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** What the clocks of devices tell is counted, and refused where that is asked for. */
class DeviceClocksTest {
  private static final UnsafeProjection ROW =
      UnsafeProjection.create(
          new DataType[] {
            DataTypes.StringType,
            DataTypes.TimestampType,
            DataTypes.TimestampType,
            DataTypes.TimestampType
          });

  private static UnsafeRow row(String flag, Long event, Long sent, Long received) {
    return ROW.apply(
        new GenericInternalRow(
            new Object[] {UTF8String.fromString(flag), event, sent, received}));
  }

  private static DeviceClocks clocks(boolean refuses) {
    return new DeviceClocks("tap", new Clock.Device(0, 1, 2, 3, refuses));
  }

  @Test
  void rowsAreCountedByWhatTheirClocksTellAndByHowFarTheyAreApart()
      throws JsonProcessingException {
    DeviceClocks clocks = clocks(false);

    assertNull(clocks.take(row("ok", 1L, 2L, 4L)));
    assertNull(clocks.take(row("repaired", 1L, 9L, 2L)));
    assertNull(clocks.take(row("suspect", null, 2L, 4L)));
    Counters counters = new Counters();
    clocks.drainTo(counters);
    clocks.drainTo(counters);

    ObjectMapper json = new ObjectMapper();
    assertEquals(
        json.readTree(
            """
            {"relations": {"tap": {"clock_repaired": 1, "clock_suspect": 1}},
             "drift": {"tap": {"2": 2, "7": 1}}}
            """),
        json.readTree(counters.toJson()));
  }

  @Test
  void aRefusalTellsByHowMuch() {
    DeviceClocks clocks = clocks(true);

    assertNull(clocks.take(row("repaired", 1L, 9L, 2L)));
    assertEquals(
        "It was sent 1.5 s before it happened.",
        clocks.take(row("suspect", 1_500_000L, 0L, 1L)));
    assertEquals(
        "Its clock is 3 s from that of what received it.",
        clocks.take(row("suspect", 0L, 4_000_000L, 1_000_000L)));
    assertEquals("It does not tell when it happened.", clocks.take(row("suspect", null, 1L, 2L)));
    assertEquals(
        "It does not tell when it was sent, or when it was received.",
        clocks.take(row("suspect", 1L, null, 2L)));
  }
}
