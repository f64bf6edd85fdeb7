package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.ChangeLetter;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.message.RowByRow;
import dev.joinery.kernel.program.Program;
import java.util.Iterator;
import java.util.Locale;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;

/**
 * Turns the rows of a frame of typed changes into messages to the first nodes of the chain; those
 * it cannot use become dead letters that travel beside.
 *
 * <p>A frame has no log. Its changes stand in the order of their positions; one without a position
 * stands nowhere in its batch, so that it must be the only one of its key there.
 */
public final class FrameIngress implements MapPartitionsFunction<Row, Tuple2<byte[], byte[]>> {
  /** The columns of a frame's row, in order. */
  static final String[] COLUMNS = {"op", "position", "row", "batch", "timestamp"};

  private static final int REFUSED = -1;

  private final Program program;
  private final Ingress.Destinations destinations;
  private final int relation;
  private final long[] absent;

  /** {@code absent} marks the columns that the frame does not have; null where it has all. */
  public FrameIngress(
      Program program, Ingress.Destinations destinations, int relation, long[] absent) {
    this.program = program;
    this.destinations = destinations;
    this.relation = relation;
    this.absent = absent;
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Row> rows) {
    Outbox outbox = new Outbox();
    Sender sender = new Sender(outbox);
    outbox.later(new RowByRow<>(rows, sender::take, sender::close));
    return outbox;
  }

  private final class Sender implements Ingress.Origin {
    private final Outbox outbox;
    private final Ingress.Destination destination = destinations.open(this);
    private final Program.RelationProgram columns = program.relations().get(relation);
    private final ChangeLetter letters = new ChangeLetter(columns);
    private final UnsafeRow decoded = new UnsafeRow(columns.columns().size());
    private final Counters counters = new Counters();
    private long timestamp;
    private long batch;
    private long taken;

    Sender(Outbox outbox) {
      this.outbox = outbox;
    }

    /** {@code relation/batch/task.row}: a frame has no log. */
    @Override
    public String place() {
      return columns.name() + "/" + batch + "/" + TaskContext.getPartitionId() + "." + taken;
    }

    void close() {
      counters.drainTo(outbox, timestamp);
      destination.close(outbox, timestamp);
    }

    void take(Row row) {
      int op = row.isNullAt(0) ? Message.OP_UPSERT : opOf(row.getString(0));
      boolean positioned = !row.isNullAt(1);
      long position = positioned ? row.getLong(1) : 0;
      Slice bytes = Slice.of((byte[]) row.get(2));
      timestamp = row.getLong(4);
      batch = row.getLong(3);
      taken++;
      String nullKey = nullKey(bytes);
      String notFinite = op == Message.OP_UPSERT && nullKey == null ? notFinite() : null;
      if (op == REFUSED) {
        refuse("undecodable", "an \"__op\" that is none of the known", bytes, timestamp);
      } else if (nullKey != null) {
        refuse("key_missing", "key column \"" + nullKey + "\" is null", bytes, timestamp);
      } else if (notFinite != null) {
        refuse("wrong_type", notFinite, bytes, timestamp);
      } else if (op == Message.OP_DELETE && columns.insertsOnly()) {
        counters.relation(columns.name(), "ignored_deletes", 1);
      } else {
        long minor = positioned ? position : RawChange.ORDERLESS;
        long[] missing = op == Message.OP_UPSERT ? absent : null;
        Change change =
            new Change(op, positioned, position, batch, minor, missing);
        destination.send(relation, change, bytes, timestamp, outbox);
      }
    }

    private void refuse(String reason, String detail, Slice row, long timestamp) {
      outbox.emit(letters.of(reason, detail, row, false, timestamp));
    }

    /** Points at the row; the first key column that is null, or null. */
    private String nullKey(Slice row) {
      BinaryRow.point(decoded, row);
      for (int ordinal : columns.key()) {
        if (decoded.isNullAt(ordinal)) {
          return columns.columns().get(ordinal).name();
        }
      }
      return null;
    }

    /** Says which column is the first to hold NaN or an infinity, however deep; null for none. */
    private String notFinite() {
      for (int i = 0; i < columns.columns().size(); i++) {
        String found = notFiniteIn(decoded, i, columns.columns().get(i).type());
        if (found != null) {
          return "column \"" + columns.columns().get(i).name() + "\": " + found;
        }
      }
      return null;
    }
  }

  private static int opOf(String op) {
    return switch (op.toLowerCase(Locale.ROOT)) {
      case "c", "r", "u", "i", "insert", "update", "upsert", "read", "snapshot" ->
          Message.OP_UPSERT;
      case "d", "delete" -> Message.OP_DELETE;
      default -> REFUSED;
    };
  }

  /** Says what stands where a finite number is declared; null where all numbers are finite. */
  private static String notFiniteIn(SpecializedGetters values, int ordinal, DataType type) {
    if (!canHoldReal(type) || values.isNullAt(ordinal)) {
      return null;
    }
    if (type.equals(DataTypes.DoubleType)) {
      return notFinite(values.getDouble(ordinal), "double");
    }
    if (type.equals(DataTypes.FloatType)) {
      return notFinite(values.getFloat(ordinal), "float");
    }
    if (type instanceof ArrayType array) {
      return notFiniteIn(values.getArray(ordinal), array.elementType());
    }
    if (type instanceof MapType map) {
      MapData entries = values.getMap(ordinal);
      String inKeys = notFiniteIn(entries.keyArray(), map.keyType());
      return inKeys != null ? inKeys : notFiniteIn(entries.valueArray(), map.valueType());
    }
    StructType struct = (StructType) type;
    InternalRow row = values.getStruct(ordinal, struct.length());
    for (int i = 0; i < struct.length(); i++) {
      String found = notFiniteIn(row, i, struct.fields()[i].dataType());
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  private static String notFiniteIn(ArrayData values, DataType type) {
    for (int i = 0; i < values.numElements(); i++) {
      String found = notFiniteIn(values, i, type);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  private static String notFinite(double value, String type) {
    return Double.isFinite(value) ? null : value + " where " + type + " is declared";
  }

  private static boolean canHoldReal(DataType type) {
    return type.equals(DataTypes.DoubleType)
        || type.equals(DataTypes.FloatType)
        || type instanceof ArrayType
        || type instanceof MapType
        || type instanceof StructType;
  }
}
