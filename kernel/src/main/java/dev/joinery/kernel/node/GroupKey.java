package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.GroupProgram;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The code of a group's key, as {@link KeyCodec} writes it: the columns that rows are grouped by,
 * of which a null is a value like any other, then the window's start, and where windows share
 * their start the end.
 */
final class GroupKey {
  private static final int PRESENT = 1;

  private final KeyCodec codec;
  private final boolean windowed;
  private final boolean ended;

  GroupKey(GroupProgram program, StructType input) {
    DataType[] by =
        Arrays.stream(input.fields()).limit(program.by()).map(each -> each.dataType())
            .toArray(DataType[]::new);
    this.windowed = program.window() != null;
    this.ended = windowed && program.window().shape() == GroupProgram.WindowShape.CUMULATIVE;
    List<DataType> types = new ArrayList<>(List.of(by));
    if (windowed) {
      types.add(DataTypes.TimestampType);
    }
    if (ended) {
      types.add(DataTypes.TimestampType);
    }
    this.codec = KeyCodec.of(types.toArray(DataType[]::new));
  }

  byte[] of(byte[] by, long start, long end) {
    if (!windowed) {
      return by;
    }
    return ended ? of(of(by, start), end) : of(by, start);
  }

  /** A code with a time behind it. */
  static byte[] of(byte[] code, long time) {
    ByteWriter out = new ByteWriter(code.length + Long.BYTES + 1);
    return out.writeRaw(code).writeByte(PRESENT).writeLong(time ^ Long.MIN_VALUE).toBytes();
  }

  /** The end of the window that a key tells. */
  long endOf(byte[] key, Windows windows) {
    ByteReader last = new ByteReader(key, key.length - Long.BYTES, Long.BYTES);
    long time = last.readLong() ^ Long.MIN_VALUE;
    return ended ? time : windows.endOf(time);
  }

  /** The columns of a key in Spark's internal form. */
  Object[] decode(Slice key) {
    return codec.decode(key);
  }
}
