package dev.joinery.kernel.format;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;

/** Makes what steps over the values of a writer's schema; remembers it for named types. */
final class AvroSkips {
  /** Steps over one value. */
  interface Skip {
    void skip(AvroCursor in);
  }

  private final Map<Schema, Skip> records = new IdentityHashMap<>();

  Skip of(Schema schema) {
    return switch (schema.getType()) {
      case NULL -> in -> {};
      case BOOLEAN -> in -> in.skip(1);
      case INT, LONG -> AvroCursor::readLong;
      case FLOAT -> in -> in.skip(4);
      case DOUBLE -> in -> in.skip(8);
      case STRING, BYTES -> in -> in.skip(in.readLength());
      case FIXED -> {
        int size = schema.getFixedSize();
        yield in -> in.skip(size);
      }
      case ENUM -> {
        int symbols = schema.getEnumSymbols().size();
        yield in -> in.readIndex(symbols);
      }
      case UNION -> union(schema);
      case ARRAY -> blocks(of(schema.getElementType()));
      case MAP -> {
        Skip value = of(schema.getValueType());
        yield blocks(
            in -> {
              in.skip(in.readLength());
              value.skip(in);
            });
      }
      case RECORD -> record(schema);
    };
  }

  private Skip union(Schema schema) {
    List<Schema> types = schema.getTypes();
    Skip[] branches = types.stream().map(this::of).toArray(Skip[]::new);
    return in -> branches[in.readIndex(branches.length)].skip(in);
  }

  private static Skip blocks(Skip entry) {
    return in -> {
      in.enter();
      for (int count = in.readBlock(); count > 0; count = in.readBlock()) {
        for (int i = 0; i < count; i++) {
          entry.skip(in);
        }
      }
      in.leave();
    };
  }

  private Skip record(Schema schema) {
    Skip known = records.get(schema);
    if (known != null) {
      return known;
    }
    Skip[] fields = new Skip[schema.getFields().size()];
    Skip record =
        in -> {
          in.enter();
          for (Skip field : fields) {
            field.skip(in);
          }
          in.leave();
        };
    records.put(schema, record);
    for (int i = 0; i < fields.length; i++) {
      fields[i] = of(schema.getFields().get(i).schema());
    }
    return record;
  }
}
