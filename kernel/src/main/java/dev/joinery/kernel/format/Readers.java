package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Chooses the reader for a declared type; where a record carries a schema, by its meaning. */
final class Readers {
  private Readers() {}

  /**
   * @param schema the Kafka Connect schema of the value, null where there is none
   * @param unit what a timestamp's number counts where no schema says so
   */
  static ValueReader of(DataType type, JsonNode schema, Temporals.Unit unit) {
    String meaning = schema == null ? "" : schema.path("name").asText("");
    return switch (meaning) {
      case "org.apache.kafka.connect.data.Decimal" ->
          new Decimals.Encoded(
              plain(type, schema, unit),
              target(type),
              schema.path("parameters").path("scale").asInt(0));
      case "io.debezium.data.VariableScaleDecimal" ->
          new Decimals.Variable(plain(type, schema, unit), target(type));
      default -> temporal(type, schema, unit, temporalUnit(meaning));
    };
  }

  /** Returns the readers of some types where no schema says more. */
  static ValueReader[] all(DataType[] types, Temporals.Unit unit) {
    return Arrays.stream(types).map(each -> of(each, null, unit)).toArray(ValueReader[]::new);
  }

  /** Returns what a number of this meaning in Kafka Connect counts, null where it is no time. */
  static Temporals.Unit temporalUnit(String meaning) {
    return switch (meaning) {
      case "io.debezium.time.Date", "org.apache.kafka.connect.data.Date" -> Temporals.Unit.DAYS;
      case "io.debezium.time.Timestamp", "org.apache.kafka.connect.data.Timestamp" ->
          Temporals.Unit.MILLIS;
      case "io.debezium.time.MicroTimestamp" -> Temporals.Unit.MICROS;
      case "io.debezium.time.NanoTimestamp" -> Temporals.Unit.NANOS;
      case "io.debezium.time.Time", "org.apache.kafka.connect.data.Time" ->
          Temporals.Unit.TIME_MILLIS;
      case "io.debezium.time.MicroTime" -> Temporals.Unit.TIME_MICROS;
      case "io.debezium.time.NanoTime" -> Temporals.Unit.TIME_NANOS;
      default -> null;
    };
  }

  private static ValueReader temporal(
      DataType type, JsonNode schema, Temporals.Unit unit, Temporals.Unit told) {
    if (told == null) {
      return plain(type, schema, unit);
    }
    if (type instanceof StringType) {
      return new Temporals.AsText(told);
    }
    if (type.equals(DataTypes.DateType)) {
      return new Temporals.Date(told);
    }
    return plain(type, schema, told);
  }

  private static ValueReader plain(DataType type, JsonNode schema, Temporals.Unit unit) {
    if (type instanceof StringType) {
      return new Scalars.Text();
    } else if (type instanceof DecimalType decimal) {
      return new Decimals.Output(decimal);
    } else if (type instanceof StructType struct) {
      return struct(struct, schema, unit);
    } else if (type instanceof ArrayType array) {
      JsonNode items = schema == null ? null : schema.get("items");
      return new Containers.ListReader(of(array.elementType(), items, unit));
    } else if (type instanceof MapType map) {
      return new Containers.MapReader(
          of(map.keyType(), schema == null ? null : schema.get("keys"), unit),
          of(map.valueType(), schema == null ? null : schema.get("values"), unit),
          map.keyType() instanceof StringType);
    }
    return atomic(type, unit);
  }

  private static ValueReader atomic(DataType type, Temporals.Unit unit) {
    ValueReader whole = whole(type);
    if (whole != null) {
      return whole;
    } else if (type.equals(DataTypes.BooleanType)) {
      return new Scalars.BooleanReader();
    } else if (type.equals(DataTypes.DoubleType)) {
      return new Scalars.DoubleReader();
    } else if (type.equals(DataTypes.FloatType)) {
      return new Scalars.FloatReader();
    } else if (type.equals(DataTypes.BinaryType)) {
      return new Scalars.Binary();
    } else if (type.equals(DataTypes.TimestampType)) {
      return new Temporals.Timestamp(unit, "timestamp");
    } else if (type.equals(DataTypes.TimestampNTZType)) {
      return new Temporals.Timestamp(unit, "timestamp_ntz");
    } else if (type.equals(DataTypes.DateType)) {
      return new Temporals.Date(Temporals.Unit.DAYS);
    } else if (type.equals(DataTypes.NullType)) {
      return new Scalars.Void();
    }
    throw new IllegalArgumentException("no format reads the type " + type.sql());
  }

  /** Returns the writer of a type of whole numbers, null for other types. */
  static Scalars.Whole whole(DataType type) {
    if (type.equals(DataTypes.LongType)) {
      return new Scalars.Whole("long", 8);
    } else if (type.equals(DataTypes.IntegerType)) {
      return new Scalars.Whole("int", 4);
    } else if (type.equals(DataTypes.ShortType)) {
      return new Scalars.Whole("short", 2);
    } else if (type.equals(DataTypes.ByteType)) {
      return new Scalars.Whole("byte", 1);
    }
    return null;
  }

  /** Returns where a decoded decimal goes. */
  static Decimals.Target target(DataType type) {
    Scalars.Whole whole = whole(type);
    if (whole != null) {
      return Decimals.asWhole(whole, type.sql().toLowerCase());
    } else if (type instanceof DecimalType decimal) {
      return new Decimals.Output(decimal)::write;
    } else if (type.equals(DataTypes.DoubleType)) {
      return Decimals.asDouble();
    } else if (type instanceof StringType) {
      return Decimals.asText();
    }
    return (number, out, ordinal) -> {
      throw Rejected.wrongType("a decimal where " + type.sql().toLowerCase() + " is declared");
    };
  }

  private static ValueReader struct(StructType type, JsonNode schema, Temporals.Unit unit) {
    List<String> names = new ArrayList<>();
    List<ValueReader> fields = new ArrayList<>();
    for (StructField field : type.fields()) {
      names.add(field.name());
      fields.add(of(field.dataType(), field(schema, field.name()), unit));
    }
    return new Containers.StructReader(names, fields.toArray(ValueReader[]::new));
  }

  /** Returns the schema of a struct's field, null where it has none. */
  static JsonNode field(JsonNode schema, String name) {
    if (schema == null) {
      return null;
    }
    for (JsonNode field : schema.path("fields")) {
      if (name.equals(field.path("field").asText(null))) {
        return field;
      }
    }
    return null;
  }
}
