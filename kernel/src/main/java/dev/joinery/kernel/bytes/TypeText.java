package dev.joinery.kernel.bytes;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import scala.Function0;

/**
 * The types that texts name, whatever the session that is active has set: under
 * `spark.sql.timestampType` a "timestamp" would else be one without a zone.
 *
 * <p>The planner's own texts are read here, all others by Spark's parser of SQL, whose grammar
 * takes a fifth of a second to load.
 */
public final class TypeText {
  private static final Map<String, DataType> ATOMS =
      Map.ofEntries(
          Map.entry("boolean", DataTypes.BooleanType),
          Map.entry("tinyint", DataTypes.ByteType),
          Map.entry("smallint", DataTypes.ShortType),
          Map.entry("int", DataTypes.IntegerType),
          Map.entry("bigint", DataTypes.LongType),
          Map.entry("float", DataTypes.FloatType),
          Map.entry("double", DataTypes.DoubleType),
          Map.entry("string", DataTypes.StringType),
          Map.entry("binary", DataTypes.BinaryType),
          Map.entry("date", DataTypes.DateType),
          Map.entry("timestamp", DataTypes.TimestampType),
          Map.entry("timestamp_ntz", DataTypes.TimestampNTZType),
          Map.entry("void", DataTypes.NullType));

  private final String text;
  private int at;

  private TypeText(String text) {
    this.text = text;
  }

  /** Returns the type that a text in Spark's DDL names. */
  public static DataType read(String text) {
    TypeText reading = new TypeText(text);
    DataType type = reading.type();
    return type != null && reading.at == text.length() ? type : bySpark(text);
  }

  private static DataType bySpark(String text) {
    Function0<DataType> reading = () -> DataType.fromDDL(text);
    return SQLConf$.MODULE$.withExistingConf(new SQLConf(), reading);
  }

  /** Reads a type; returns null where it is not written as the planner writes it. */
  private DataType type() {
    String word = word();
    return switch (word) {
      case "decimal" -> decimal();
      case "array" -> array();
      case "map" -> map();
      case "struct" -> struct();
      default -> ATOMS.get(word);
    };
  }

  private DataType decimal() {
    if (!takes('(')) {
      return null;
    }
    int precision = number();
    int scale = takes(',') ? number() : -1;
    boolean known = takes(')') && precision > 0 && scale >= 0 && scale <= precision;
    return known && precision <= DecimalType.MAX_PRECISION()
        ? DataTypes.createDecimalType(precision, scale)
        : null;
  }

  private DataType array() {
    DataType element = takes('<') ? type() : null;
    return element != null && takes('>') ? DataTypes.createArrayType(element) : null;
  }

  private DataType map() {
    DataType key = takes('<') ? type() : null;
    DataType value = key != null && takes(',') ? type() : null;
    return value != null && takes('>') ? DataTypes.createMapType(key, value) : null;
  }

  private DataType struct() {
    if (!takes('<')) {
      return null;
    }
    List<StructField> fields = new ArrayList<>();
    if (takes('>')) {
      return DataTypes.createStructType(fields);
    }
    do {
      String name = quoted();
      DataType type = name != null && takes(':') ? type() : null;
      if (type == null) {
        return null;
      }
      fields.add(DataTypes.createStructField(name, type, true));
    } while (takes(','));
    return takes('>') ? DataTypes.createStructType(fields) : null;
  }

  /** Reads a name between backticks, of which one that belongs to it is written twice. */
  private String quoted() {
    StringBuilder name = new StringBuilder();
    if (!takes('`')) {
      return null;
    }
    while (at < text.length()) {
      char next = text.charAt(at++);
      if (next == '`' && !takes('`')) {
        return name.isEmpty() ? null : name.toString();
      }
      name.append(next);
    }
    return null;
  }

  private String word() {
    int start = at;
    while (at < text.length() && isWord(text.charAt(at))) {
      at++;
    }
    return text.substring(start, at);
  }

  private static boolean isWord(char next) {
    return next >= 'a' && next <= 'z' || next == '_';
  }

  /** Reads a number of at most two digits, all that a decimal has; -1 where there is none. */
  private int number() {
    int start = at;
    while (at < text.length() && at < start + 2 && Character.digit(text.charAt(at), 10) >= 0) {
      at++;
    }
    return at == start ? -1 : Integer.parseInt(text, start, at, 10);
  }

  private boolean takes(char wanted) {
    boolean there = at < text.length() && text.charAt(at) == wanted;
    at += there ? 1 : 0;
    return there;
  }
}
