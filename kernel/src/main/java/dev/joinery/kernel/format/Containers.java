package dev.joinery.kernel.format;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeArrayWriter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeWriter;
import org.apache.spark.unsafe.Platform;

/** The readers of structs, lists and maps; fields not declared are ignored, as columns are. */
final class Containers {
  private Containers() {}

  static final class StructReader extends ValueReader {
    private final List<String> names;
    private final ValueReader[] fields;
    private final Spans spans;

    StructReader(List<String> names, ValueReader[] fields) {
      this.names = names;
      this.fields = fields;
      this.spans = new Spans(names);
    }

    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      if (json.text[from] != '{') {
        throw Numbers.wrong(json, from, "struct");
      }
      int after = json.at;
      json.at = from;
      spans.scan(json);
      json.at = after;
      int start = out.cursor();
      UnsafeRowWriter row = new UnsafeRowWriter(out, fields.length);
      row.resetRowWriter();
      for (int i = 0; i < fields.length; i++) {
        field(json, row, i);
      }
      out.setOffsetAndSizeFromPreviousCursor(ordinal, start);
    }

    private void field(JsonCursor json, UnsafeRowWriter row, int i) {
      if (spans.absent(i)) {
        fields[i].writeNull(row, i);
        return;
      }
      try {
        fields[i].readOrNull(json, spans.from[i], spans.to[i], spans.escaped[i], row, i);
      } catch (Rejected rejected) {
        throw rejected.in(names.get(i));
      }
    }
  }

  static final class ListReader extends ValueReader {
    private final ValueReader element;

    ListReader(ValueReader element) {
      this.element = element;
    }

    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      if (json.text[from] != '[') {
        throw Numbers.wrong(json, from, "array");
      }
      int start = out.cursor();
      write(Elements.of(json, from), element, json, out);
      out.setOffsetAndSizeFromPreviousCursor(ordinal, start);
    }

    static void write(Elements elements, ValueReader element, JsonCursor json, UnsafeWriter out) {
      UnsafeArrayWriter array = new UnsafeArrayWriter(out, element.elementBytes());
      array.initialize(elements.size);
      for (int i = 0; i < elements.size; i++) {
        try {
          element.readOrNull(
              json, elements.from[i], elements.to[i], elements.escaped[i], array, i);
        } catch (Rejected rejected) {
          throw rejected.in("[]");
        }
      }
    }
  }

  /** A map: an object, or a list of pairs, as Kafka Connect writes keys that are not text. */
  static final class MapReader extends ValueReader {
    private final ValueReader key;
    private final ValueReader value;
    private final boolean textKeys;

    MapReader(ValueReader key, ValueReader value, boolean textKeys) {
      this.key = key;
      this.value = value;
      this.textKeys = textKeys;
    }

    @Override
    void read(JsonCursor json, int from, int to, boolean escaped, UnsafeWriter out, int ordinal) {
      Elements keys = new Elements();
      Elements values = new Elements();
      switch (json.text[from]) {
        case '{' -> entries(json, from, keys, values);
        case '[' -> pairs(json, from, keys, values);
        default -> throw Numbers.wrong(json, from, "map");
      }
      int start = out.cursor();
      out.grow(8);
      out.increaseCursor(8);
      ListReader.write(keys, key, json, out);
      Platform.putLong(out.getBuffer(), start, out.cursor() - start - 8L);
      ListReader.write(values, value, json, out);
      out.setOffsetAndSizeFromPreviousCursor(ordinal, start);
    }

    private void entries(JsonCursor json, int from, Elements keys, Elements values) {
      Map<String, Integer> places = new LinkedHashMap<>();
      int after = json.at;
      json.at = from;
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
        // The span of a key: with its quotes where it is text, else what stands between them.
        int quote = textKeys ? 1 : 0;
        keys.add(nameFrom - quote, nameTo + quote, nameEscaped);
        values.add(json.from, json.to, json.escaped);
      }
      json.at = after;
    }

    private static void pairs(JsonCursor json, int from, Elements keys, Elements values) {
      Elements pairs = Elements.of(json, from);
      List<byte[]> seen = new ArrayList<>();
      for (int i = 0; i < pairs.size; i++) {
        if (json.text[pairs.from[i]] != '[') {
          throw Rejected.wrongType("a list that is not of pairs where map is declared");
        }
        Elements pair = Elements.of(json, pairs.from[i]);
        if (pair.size != 2 || json.text[pair.from[0]] == 'n') {
          throw Rejected.wrongType("a list that is not of pairs where map is declared");
        }
        byte[] key = Arrays.copyOfRange(json.text, pair.from[0], pair.to[0]);
        if (seen.stream().anyMatch(other -> Arrays.equals(other, key))) {
          throw Rejected.wrongType("a map with a key twice");
        }
        seen.add(key);
        keys.add(pair.from[0], pair.to[0], pair.escaped[0]);
        values.add(pair.from[1], pair.to[1], pair.escaped[1]);
      }
    }
  }

  /** The spans of a list's elements. */
  static final class Elements {
    int[] from = new int[8];
    int[] to = new int[8];
    boolean[] escaped = new boolean[8];
    int size;

    static Elements of(JsonCursor json, int from) {
      Elements elements = new Elements();
      int after = json.at;
      json.at = from;
      for (boolean more = json.firstElement(); more; more = json.nextElement()) {
        json.skipValue();
        elements.add(json.from, json.to, json.escaped);
      }
      json.at = after;
      return elements;
    }

    void add(int from, int to, boolean escaped) {
      if (size == this.from.length) {
        this.from = Arrays.copyOf(this.from, 2 * size);
        this.to = Arrays.copyOf(this.to, 2 * size);
        this.escaped = Arrays.copyOf(this.escaped, 2 * size);
      }
      set(size++, from, to, escaped);
    }

    void set(int index, int from, int to, boolean escaped) {
      this.from[index] = from;
      this.to[index] = to;
      this.escaped[index] = escaped;
    }
  }
}
