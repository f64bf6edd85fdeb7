package dev.joinery.kernel.format;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Chooses the reader for a writer's schema and a declared type: what the schema means decides, by
 * the name that Kafka Connect gave it or by its logical type; a value that does not fit is refused
 * when it comes.
 */
final class AvroReaders {
  private final AvroSkips skips;
  private final Temporals.Unit unit;

  /**
   * @param unit what a timestamp's number counts where the schema does not say
   */
  AvroReaders(AvroSkips skips, Temporals.Unit unit) {
    this.skips = skips;
    this.unit = unit;
  }

  AvroReader of(DataType type, Schema schema) {
    return switch (schema.getType()) {
      case NULL -> nulls(type);
      case UNION -> union(type, schema);
      case BOOLEAN -> bool(type);
      case INT, LONG -> whole(type, schema);
      case FLOAT -> AvroNumbers.real(type, AvroCursor::readFloat);
      case DOUBLE -> AvroNumbers.real(type, AvroCursor::readDouble);
      case STRING -> AvroTexts.of(type, unit);
      case ENUM -> AvroTexts.symbols(schema, AvroTexts.text(type, unit));
      case BYTES -> bytes(type, schema, in -> in.skip(in.readLength()));
      case FIXED -> bytes(type, schema, in -> in.skip(schema.getFixedSize()));
      case ARRAY -> array(type, schema);
      case MAP -> map(type, schema);
      case RECORD -> record(type, schema);
    };
  }

  /** Returns a declared type as it is named in a refusal. */
  static String name(DataType type) {
    if (type.equals(DataTypes.LongType)) {
      return "long";
    } else if (type.equals(DataTypes.ShortType)) {
      return "short";
    } else if (type.equals(DataTypes.ByteType)) {
      return "byte";
    } else if (type instanceof StructType) {
      return "struct";
    } else if (type instanceof ArrayType) {
      return "array";
    } else if (type instanceof MapType) {
      return "map";
    }
    return type.sql().toLowerCase(Locale.ROOT);
  }

  static AvroReader wrong(String found, DataType type) {
    String detail = found + " where " + name(type) + " is declared";
    return (in, out, ordinal) -> {
      throw Rejected.wrongType(detail);
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

  private static AvroReader nulls(DataType type) {
    ValueReader declared = Readers.of(type, null, Temporals.Unit.MICROS);
    return (in, out, ordinal) -> declared.writeNull(out, ordinal);
  }

  private AvroReader union(DataType type, Schema schema) {
    AvroReader[] branches =
        schema.getTypes().stream().map(each -> of(type, each)).toArray(AvroReader[]::new);
    return (in, out, ordinal) ->
        branches[in.readIndex(branches.length)].read(in, out, ordinal);
  }

  private static AvroReader bool(DataType type) {
    if (!type.equals(DataTypes.BooleanType)) {
      return wrong("a boolean", type);
    }
    return (in, out, ordinal) -> out.write(ordinal, in.readByte() != 0);
  }

  private AvroReader whole(DataType type, Schema schema) {
    Temporals.Unit told = temporalUnit(meaning(schema));
    if (told != null && type instanceof StringType) {
      Temporals.AsText text = new Temporals.AsText(told);
      return (in, out, ordinal) -> text.write(in.readLong(), out, ordinal);
    }
    return AvroNumbers.whole(type, told, unit);
  }

  private static Temporals.Unit temporalUnit(String meaning) {
    return switch (meaning) {
      case "date" -> Temporals.Unit.DAYS;
      case "timestamp-millis", "local-timestamp-millis" -> Temporals.Unit.MILLIS;
      case "timestamp-micros", "local-timestamp-micros" -> Temporals.Unit.MICROS;
      case "timestamp-nanos", "local-timestamp-nanos" -> Temporals.Unit.NANOS;
      case "time-millis" -> Temporals.Unit.TIME_MILLIS;
      case "time-micros" -> Temporals.Unit.TIME_MICROS;
      default -> Readers.temporalUnit(meaning);
    };
  }

  /** {@code begin} steps over the bytes and tells where they begin. */
  private static AvroReader bytes(DataType type, Schema schema, AvroBytes.Begin begin) {
    return switch (meaning(schema)) {
      case "decimal", "org.apache.kafka.connect.data.Decimal" ->
          AvroBytes.decimal(Readers.target(type), scale(schema), begin);
      case "uuid" -> AvroBytes.uuid(type, begin);
      default -> AvroBytes.of(type, begin);
    };
  }

  private static int scale(Schema schema) {
    Object scale = schema.getObjectProp("scale");
    return scale instanceof Number number ? number.intValue() : 0;
  }

  private AvroReader array(DataType type, Schema schema) {
    Schema element = schema.getElementType();
    if (type instanceof MapType map && isEntry(element)) {
      return AvroContainers.map(
          entry(map.keyType(), element.getFields().get(0).schema()),
          entry(map.valueType(), element.getFields().get(1).schema()));
    }
    if (!(type instanceof ArrayType array)) {
      return wrong("a list", type);
    }
    return AvroContainers.list(entry(array.elementType(), element));
  }

  private AvroContainers.Entry entry(DataType type, Schema schema) {
    return new AvroContainers.Entry(
        Readers.of(type, null, unit), of(type, schema), skips.of(schema));
  }

  /** Whether a list's element is how Kafka Connect writes a map's entry with no text as key. */
  private static boolean isEntry(Schema element) {
    return element.getType() == Schema.Type.RECORD
        && element.getFields().size() == 2
        && element.getFields().get(0).name().equals("key")
        && element.getFields().get(1).name().equals("value");
  }

  private AvroReader map(DataType type, Schema schema) {
    if (!(type instanceof MapType map)) {
      return wrong("a map", type);
    }
    return AvroContainers.map(
        entry(map.keyType(), Schema.create(Schema.Type.STRING)),
        entry(map.valueType(), schema.getValueType()));
  }

  private AvroReader record(DataType type, Schema schema) {
    if (isVariableDecimal(schema)) {
      return AvroBytes.variableDecimal(Readers.target(type));
    }
    if (!(type instanceof StructType struct)) {
      return wrong("an object", type);
    }
    DataType[] types =
        Arrays.stream(struct.fields()).map(StructField::dataType).toArray(DataType[]::new);
    List<String> names = List.of(struct.fieldNames());
    AvroRecord record = AvroRecord.of(schema, names, types, unit, skips);
    return AvroContainers.struct(record, names, Readers.all(types, unit));
  }

  /** Whether a record is Debezium's decimal of variable scale: its scale, then its digits. */
  private static boolean isVariableDecimal(Schema schema) {
    List<Schema.Field> fields = schema.getFields();
    return meaning(schema).equals("io.debezium.data.VariableScaleDecimal")
        && fields.size() == 2
        && fields.get(0).schema().getType() == Schema.Type.INT
        && fields.get(1).schema().getType() == Schema.Type.BYTES;
  }
}
