package dev.joinery.kernel.ingress;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.format.RowReader;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Reads columns by the format of flat rows; the first {@code coded} make an address. */
final class KeyReader {
  private final StructType type;
  private final KeyCodec codec;
  private final RowReader rows;

  KeyReader(StructType type, int coded) {
    StructField[] columns = type.fields();
    List<KeyCodec.Column> codes = new ArrayList<>();
    for (int i = 0; i < coded; i++) {
      codes.add(new KeyCodec.Column(i, columns[i].dataType(), columns[i].dataType(), false));
    }
    this.type = type;
    this.codec = new KeyCodec(codes);
    this.rows = new RowReader(Formats.of(relation(columns))[0], 0);
  }

  private static String relation(StructField[] columns) {
    ObjectNode relation = new ObjectMapper().createObjectNode();
    relation.put("name", "key").put("format", "json").put("timeUnit", "micros");
    relation.putNull("position").put("images", "full");
    relation.putArray("key"); // Of none is asked that it be there: a group's may be null.
    ArrayNode told = relation.putArray("columns");
    for (StructField column : columns) {
      told.addObject().put("name", column.name()).put("type", column.dataType().sql());
    }
    return "[" + relation + "]";
  }

  byte[] row(String key) {
    return rows.row(key);
  }

  byte[] code(byte[] row) {
    return codec.encode(BinaryRow.of(Slice.of(row), type.length()));
  }
}
