package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import dev.joinery.kernel.format.Containers.Slot;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Makes the readers of JSON values for declared types; where a record carries a schema, what that
 * means decides. Fields that are not declared are ignored, as columns are.
 */
final class JsonValues {
  private static final int MAX_SCALE = 10_000;

  private final JsonCursor json;
  private final Temporals.Unit unit;

  /**
   * @param unit what a timestamp's number counts where no schema says so
   */
  JsonValues(JsonCursor json, Temporals.Unit unit) {
    this.json = json;
    this.unit = unit;
  }

  /**
   * @param schema the Kafka Connect schema of the value, null where there is none
   */
  Slot of(DataType type, JsonNode schema) {
    String meaning = schema == null ? "" : schema.path("name").asText("");
    Target target = Targets.of(type, Temporals.Unit.meant(meaning), unit);
    ValueReader plain = plain(type, target, schema);
    ValueReader reader =
        switch (meaning) {
          case "org.apache.kafka.connect.data.Decimal" ->
              encoded(plain, target, schema.path("parameters").path("scale").asInt(0));
          case "io.debezium.data.VariableScaleDecimal" -> variable(plain, target);
          default -> plain;
        };
    return new Slot(target, reader);
  }

  private ValueReader plain(DataType type, Target target, JsonNode schema) {
    if (type instanceof StructType struct) {
      return struct(struct, target, schema);
    } else if (type instanceof ArrayType array) {
      return list(target, of(array.elementType(), part(schema, "items")));
    } else if (type instanceof MapType map) {
      return map(map, target, schema);
    }
    return plain(target);
  }

  private static JsonNode part(JsonNode schema, String name) {
    return schema == null ? null : schema.get(name);
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

  /** Returns a reader of values that hold no others; one that does is refused. */
  ValueReader plain(Target target) {
    return new Plain(json, target);
  }

  private record Plain(JsonCursor json, Target target) implements ValueReader {
    @Override
    public void read(int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      byte[] text = json.bytes;
      byte first = text[from];
      if (first == '"') {
        if (escaped) {
          readEscaped(from, to, out, ordinal);
        } else {
          target.text(text, from + 1, to - 1, out, ordinal);
        }
      } else if (first <= '9' && (first >= '0' || (first == '-' && text[from + 1] != 'I'))) {
        target.digits(text, from, to, out, ordinal);
      } else {
        readWord(from, out, ordinal);
      }
    }

    private void readEscaped(int from, int to, UnsafeWriter out, int ordinal) {
      json.textOf(from, to, true);
      target.text(json.chars, json.charsFrom, json.charsTo, out, ordinal);
    }

    private void readWord(int from, UnsafeWriter out, int ordinal) {
      switch (json.bytes[from]) {
        case 'n' -> target.writeNull(out, ordinal);
        case 't' -> target.bool(true, out, ordinal);
        case 'f' -> target.bool(false, out, ordinal);
        default -> throw target.wrong(json.kind(from));
      }
    }
  }

  /** Goes to a value; whether it begins so, and is not to be read as one that holds no others. */
  private boolean opens(char first, int from) {
    json.at = from;
    return json.bytes[from] == first;
  }

  private ValueReader struct(StructType type, Target target, JsonNode schema) {
    List<String> names = List.of(type.fieldNames());
    Slot[] fields =
        Arrays.stream(type.fields())
            .map((StructField each) -> of(each.dataType(), field(schema, each.name())))
            .toArray(Slot[]::new);
    JsonFields found = new JsonFields(json, names);
    ValueReader other = plain(target);
    return (from, to, escaped, out, ordinal) -> {
      if (opens('{', from)) {
        found.scan();
        Containers.struct(found.spans, names, fields, out, ordinal);
      } else {
        other.read(from, to, escaped, out, ordinal);
      }
    };
  }

  private ValueReader list(Target target, Slot element) {
    Spans found = new Spans(0);
    ValueReader other = plain(target);
    return (from, to, escaped, out, ordinal) -> {
      if (opens('[', from)) {
        scanList(found);
        Containers.list(found, element, out, ordinal);
      } else {
        other.read(from, to, escaped, out, ordinal);
      }
    };
  }

  /** Reads the list at the cursor. */
  private void scanList(Spans found) {
    found.size = 0;
    for (boolean more = json.firstElement(); more; more = json.nextElement()) {
      json.skipValue();
      found.add(json.from, json.to, json.escaped);
    }
  }

  /** A map: an object, or a list of pairs, as Kafka Connect writes keys that are not text. */
  private ValueReader map(MapType type, Target target, JsonNode schema) {
    Slot key = of(type.keyType(), part(schema, "keys"));
    Slot value = of(type.valueType(), part(schema, "values"));
    Slot name = new Slot(key.target(), new Name(key.target()));
    Spans keys = new Spans(0);
    Spans values = new Spans(0);
    ValueReader other = plain(target);
    return (from, to, escaped, out, ordinal) -> {
      keys.size = 0;
      values.size = 0;
      if (opens('[', from)) {
        scanPairs(keys, values);
        Containers.map(type, keys, key, values, value, out, ordinal);
      } else if (opens('{', from)) {
        scanEntries(keys, values);
        Containers.map(type, keys, name, values, value, out, ordinal);
      } else {
        other.read(from, to, escaped, out, ordinal);
      }
    };
  }

  /** Reads the name of a map's entry as a key: a number or a boolean, where it is one, or text. */
  private final class Name implements ValueReader {
    private final Target target;
    private final JsonCursor word = new JsonCursor();
    private final ValueReader scalar;

    Name(Target target) {
      this.target = target;
      scalar = new Plain(word, target);
    }

    @Override
    public void read(int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      json.textOf(from, to, escaped);
      if (!target.isText() && isScalar(json.chars, json.charsFrom, json.charsTo)) {
        scalar.read(json.charsFrom, json.charsTo, false, out, ordinal);
      } else {
        target.text(json.chars, json.charsFrom, json.charsTo, out, ordinal);
      }
    }

    private boolean isScalar(byte[] chars, int from, int to) {
      word.open(chars, from, to);
      int first = from < to ? chars[from] : -1;
      if (first != 't' && first != 'f' && first != '-' && !(first >= '0' && first <= '9')) {
        return false;
      }
      try {
        word.skipValue();
      } catch (Rejected notJson) {
        return false;
      }
      return word.to == to;
    }
  }

  private void scanEntries(Spans keys, Spans values) {
    Map<String, Integer> places = new HashMap<>();
    for (boolean more = json.firstName(); more; more = json.nextName()) {
      int nameFrom = json.nameFrom;
      int nameTo = json.nameTo;
      boolean nameEscaped = json.nameEscaped;
      String name = new String(json.name(), StandardCharsets.UTF_8);
      json.skipValue();
      Integer known = places.putIfAbsent(name, keys.size);
      if (known != null) {
        values.set(known, json.from, json.to, json.escaped);
        continue;
      }
      keys.add(nameFrom - 1, nameTo + 1, nameEscaped);
      values.add(json.from, json.to, json.escaped);
    }
  }

  private void scanPairs(Spans keys, Spans values) {
    Spans pairs = new Spans(0);
    Spans pair = new Spans(0);
    scanList(pairs);
    for (int i = 0; i < pairs.size; i++) {
      json.at = pairs.from[i];
      if (json.bytes[json.at] != '[') {
        throw notPairs();
      }
      scanList(pair);
      if (pair.size != 2 || json.bytes[pair.from[0]] == 'n') {
        throw notPairs();
      }
      keys.add(pair.from[0], pair.to[0], pair.escaped[0]);
      values.add(pair.from[1], pair.to[1], pair.escaped[1]);
    }
  }

  private static Rejected notPairs() {
    return Rejected.wrongType("a list that is not of pairs where map is declared");
  }

  /** Kafka Connect's Decimal: the unscaled number as base64, the scale in the schema. */
  private ValueReader encoded(ValueReader plain, Target target, int scale) {
    return (from, to, escaped, out, ordinal) -> {
      if (json.bytes[from] != '"') {
        plain.read(from, to, escaped, out, ordinal);
        return;
      }
      byte[] unscaled = base64(from, to, escaped);
      if (unscaled.length == 0) {
        throw Rejected.wrongType("a number without digits");
      }
      target.decimal(new BigDecimal(new BigInteger(unscaled), scale), out, ordinal);
    };
  }

  /** Debezium's VariableScaleDecimal: {@code {"scale": 2, "value": base64}}. */
  private ValueReader variable(ValueReader plain, Target target) {
    JsonFields found = new JsonFields(json, List.of("scale", "value"));
    Spans spans = found.spans;
    return (from, to, escaped, out, ordinal) -> {
      if (!opens('{', from)) {
        plain.read(from, to, escaped, out, ordinal);
        return;
      }
      found.scan();
      if (!found.present(0) || !found.present(1)) {
        throw Rejected.wrongType("a decimal of variable scale without scale or value");
      }
      long scale = json.whole(spans.from[0], spans.to[0], "int");
      byte[] unscaled = base64(spans.from[1], spans.to[1], spans.escaped[1]);
      if (unscaled.length == 0 || Math.abs(scale) > MAX_SCALE) {
        throw Rejected.wrongType("not a decimal of variable scale");
      }
      target.decimal(new BigDecimal(new BigInteger(unscaled), (int) scale), out, ordinal);
    };
  }

  private byte[] base64(int from, int to, boolean escaped) {
    if (json.bytes[from] != '"') {
      throw Rejected.wrongType(json.kind(from) + " where decimal is declared");
    }
    json.textOf(from, to, escaped);
    return Targets.base64(json.chars, json.charsFrom, json.charsTo, "decimal");
  }
}
