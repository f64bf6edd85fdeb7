package dev.joinery.kernel.format;

import dev.joinery.kernel.format.Containers.Slot;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Makes the readers of Avro values for a writer's schema and a declared type: what the schema means
 * decides, by the name that Kafka Connect gave it or by its logical type; a value that does not fit
 * is refused when it comes. Fields that are not declared are ignored.
 */
final class AvroValues {
  private static final int MAX_SCALE = 10_000;
  private static final int UUID_BYTES = 16;
  private static final int NOT_FIXED = -1;

  final AvroSkips skips = new AvroSkips();
  private final AvroCursor in;
  private final Temporals.Unit unit;

  private record Whole(AvroCursor in, Target target) implements ValueReader {
    @Override
    public void read(int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      in.at = from;
      target.whole(in.readLong(), out, ordinal);
    }
  }

  private record Text(AvroCursor in, Target target) implements ValueReader {
    @Override
    public void read(int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      in.at = from;
      int length = in.readLength();
      int start = in.skip(length);
      Utf8.require(in.bytes, start, start + length);
      target.text(in.bytes, start, start + length, out, ordinal);
    }
  }

  private record Union(AvroCursor in, ValueReader[] branches) implements ValueReader {
    @Override
    public void read(int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      in.at = from;
      ValueReader branch = branches[in.readIndex(branches.length)];
      branch.read(in.at, to, escaped, out, ordinal);
    }
  }

  /**
   * @param unit what a timestamp's number counts where the schema does not say
   */
  AvroValues(AvroCursor in, Temporals.Unit unit) {
    this.in = in;
    this.unit = unit;
  }

  Slot of(DataType type, Schema schema) {
    return new Slot(Targets.of(type, null, unit), reader(type, schema));
  }

  ValueReader reader(DataType type, Schema schema) {
    String meaning = meaning(schema);
    Target target = Targets.of(type, Temporals.Unit.meant(meaning), unit);
    return switch (schema.getType()) {
      case UNION -> union(type, schema);
      case ENUM -> symbols(target, schema);
      case BYTES, FIXED -> bytes(target, schema, meaning);
      case ARRAY -> array(type, target, schema);
      case MAP -> map(type, target, schema);
      case RECORD -> record(type, target, schema, meaning);
      case INT, LONG -> new Whole(in, target);
      case STRING -> new Text(in, target);
      case NULL, BOOLEAN, FLOAT, DOUBLE -> plain(schema, target);
    };
  }

  /** What the schema means beyond its type: Connect's name, else the logical type; or empty. */
  private static String meaning(Schema schema) {
    String connect = schema.getProp("connect.name");
    if (connect != null) {
      return connect;
    }
    String logical = schema.getProp("logicalType");
    return logical == null ? "" : logical;
  }

  /** Tells a target the value at the cursor, of a union the chosen branch's. */
  void tell(Schema schema, Target target) {
    Schema found = schema;
    if (schema.getType() == Schema.Type.UNION) {
      found = schema.getTypes().get(in.readIndex(schema.getTypes().size()));
    }
    tell(found.getType(), target, null, 0);
  }

  private void tell(Schema.Type found, Target target, UnsafeWriter out, int ordinal) {
    switch (found) {
      case NULL -> target.writeNull(out, ordinal);
      case BOOLEAN -> target.bool(in.readByte() != 0, out, ordinal);
      case INT, LONG -> target.whole(in.readLong(), out, ordinal);
      case FLOAT -> target.real(in.readFloat(), out, ordinal);
      case DOUBLE -> target.real(in.readDouble(), out, ordinal);
      case STRING -> {
        int from = in.skip(in.readLength());
        Utf8.require(in.bytes, from, in.at);
        target.text(in.bytes, from, in.at, out, ordinal);
      }
      case ARRAY -> throw target.wrong("a list");
      case MAP -> throw target.wrong("a map");
      case RECORD -> throw target.wrong("an object");
      case BYTES, FIXED -> throw target.wrong("bytes");
      case ENUM -> throw target.wrong("a symbol");
      case UNION -> throw target.wrong("a union in a union");
    }
  }

  /** Returns a reader of values that hold no others; one that does is refused. */
  private ValueReader plain(Schema schema, Target target) {
    Schema.Type found = schema.getType();
    return (from, to, escaped, out, ordinal) -> {
      in.at = from;
      tell(found, target, out, ordinal);
    };
  }

  private ValueReader union(DataType type, Schema schema) {
    ValueReader[] branches =
        schema.getTypes().stream().map(each -> reader(type, each)).toArray(ValueReader[]::new);
    return new Union(in, branches);
  }

  private ValueReader symbols(Target target, Schema schema) {
    byte[][] symbols =
        schema.getEnumSymbols().stream()
            .map(each -> each.getBytes(StandardCharsets.UTF_8))
            .toArray(byte[][]::new);
    return (from, to, escaped, out, ordinal) -> {
      in.at = from;
      byte[] symbol = symbols[in.readIndex(symbols.length)];
      target.text(symbol, 0, symbol.length, out, ordinal);
    };
  }

  private ValueReader bytes(Target target, Schema schema, String meaning) {
    int size = schema.getType() == Schema.Type.FIXED ? schema.getFixedSize() : NOT_FIXED;
    return switch (meaning) {
      case "decimal", "org.apache.kafka.connect.data.Decimal" -> {
        int scale = schema.getObjectProp("scale") instanceof Number found ? found.intValue() : 0;
        yield (from, to, escaped, out, ordinal) -> {
          in.at = from;
          target.decimal(decimal(skipBytes(size), scale), out, ordinal);
        };
      }
      case "uuid" -> target instanceof Targets.Text ? uuid(target, size) : raw(target, size);
      default -> raw(target, size);
    };
  }

  private ValueReader raw(Target target, int size) {
    return (from, to, escaped, out, ordinal) -> {
      in.at = from;
      int start = skipBytes(size);
      target.bytes(in.bytes, start, in.at, out, ordinal);
    };
  }

  /** Steps over bytes, and tells where they begin. */
  private int skipBytes(int size) {
    return in.skip(size == NOT_FIXED ? in.readLength() : size);
  }

  /** Returns the number whose digits' bytes end at the cursor. */
  private BigDecimal decimal(int from, int scale) {
    if (in.at == from) {
      throw Rejected.wrongType("a number without digits");
    }
    return new BigDecimal(new BigInteger(in.bytes, from, in.at - from), scale);
  }

  /** A UUID in 16 bytes, as text. */
  private ValueReader uuid(Target target, int size) {
    return (from, to, escaped, out, ordinal) -> {
      in.at = from;
      int start = skipBytes(size);
      if (in.at - start != UUID_BYTES) {
        throw Rejected.wrongType("a UUID that is not of 16 bytes");
      }
      ByteBuffer bytes = ByteBuffer.wrap(in.bytes, start, UUID_BYTES);
      byte[] text =
          new UUID(bytes.getLong(), bytes.getLong())
              .toString()
              .getBytes(StandardCharsets.UTF_8);
      target.text(text, 0, text.length, out, ordinal);
    };
  }

  private ValueReader array(DataType type, Target target, Schema schema) {
    Schema element = schema.getElementType();
    if (type instanceof MapType map && isEntry(element)) {
      return map(
          map, element.getFields().get(0).schema(), element.getFields().get(1).schema());
    }
    if (!(type instanceof ArrayType array)) {
      return plain(schema, target);
    }
    Slot slot = of(array.elementType(), element);
    AvroSkips.Skip skip = skips.of(element);
    Spans found = new Spans(0);
    return (from, to, escaped, out, ordinal) -> {
      in.at = from;
      found.size = 0;
      for (int count = in.readBlock(); count > 0; count = in.readBlock()) {
        for (int i = 0; i < count; i++) {
          add(found, skip);
        }
      }
      Containers.list(found, slot, out, ordinal);
    };
  }

  private void add(Spans found, AvroSkips.Skip skip) {
    int from = in.at;
    skip.skip(in);
    found.add(from, in.at, false);
  }

  /** Whether a list's element is how Kafka Connect writes a map's entry with no text as key. */
  private static boolean isEntry(Schema element) {
    return element.getType() == Schema.Type.RECORD
        && element.getFields().size() == 2
        && element.getFields().get(0).name().equals("key")
        && element.getFields().get(1).name().equals("value");
  }

  private ValueReader map(DataType type, Target target, Schema schema) {
    return type instanceof MapType map
        ? map(map, Schema.create(Schema.Type.STRING), schema.getValueType())
        : plain(schema, target);
  }

  private ValueReader map(MapType type, Schema key, Schema value) {
    Slot keySlot = of(type.keyType(), key);
    Slot valueSlot = of(type.valueType(), value);
    AvroSkips.Skip keySkip = skips.of(key);
    AvroSkips.Skip valueSkip = skips.of(value);
    Spans keys = new Spans(0);
    Spans values = new Spans(0);
    return (from, to, escaped, out, ordinal) -> {
      in.at = from;
      keys.size = 0;
      values.size = 0;
      for (int count = in.readBlock(); count > 0; count = in.readBlock()) {
        for (int i = 0; i < count; i++) {
          add(keys, keySkip);
          add(values, valueSkip);
        }
      }
      Containers.map(type, keys, keySlot, values, valueSlot, out, ordinal);
    };
  }

  private ValueReader record(DataType type, Target target, Schema schema, String meaning) {
    if (meaning.equals("io.debezium.data.VariableScaleDecimal") && isScaleAndBytes(schema)) {
      return (from, to, escaped, out, ordinal) -> {
        in.at = from;
        target.decimal(variableDecimal(), out, ordinal);
      };
    }
    if (!(type instanceof StructType struct)) {
      return plain(schema, target);
    }
    List<String> names = List.of(struct.fieldNames());
    DataType[] types =
        Arrays.stream(struct.fields()).map(StructField::dataType).toArray(DataType[]::new);
    AvroRecord record = new AvroRecord(schema, names, types, this);
    Slot[] fields = new Slot[types.length];
    for (int i = 0; i < fields.length; i++) {
      fields[i] = new Slot(Targets.of(types[i], null, unit), record.readers[i]);
    }
    Spans found = new Spans(fields.length);
    return (from, to, escaped, out, ordinal) -> {
      in.at = from;
      record.scan(in, found);
      Containers.struct(found, names, fields, out, ordinal);
    };
  }

  private static boolean isScaleAndBytes(Schema schema) {
    List<Schema.Field> fields = schema.getFields();
    return fields.size() == 2
        && fields.get(0).schema().getType() == Schema.Type.INT
        && fields.get(1).schema().getType() == Schema.Type.BYTES;
  }

  /** Debezium's VariableScaleDecimal: a record of a scale and of the digits' bytes. */
  private BigDecimal variableDecimal() {
    long scale = in.readLong();
    int from = skipBytes(NOT_FIXED);
    if (Math.abs(scale) > MAX_SCALE) {
      throw Rejected.wrongType("not a decimal of variable scale");
    }
    return decimal(from, (int) scale);
  }
}
