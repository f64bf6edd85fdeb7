package dev.joinery.kernel.bytes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

final class TypeTextTest {
  private static final String[] ATOMS = {
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary",
    "date", "timestamp", "timestamp_ntz", "void", "decimal(38,18)", "decimal(1,0)", "decimal(9,9)"
  };
  private static final String[] NAMES = {"id", "Id", "a b", "a``b", "größe", "<,>:", "1", "``"};

  @Test
  void what_the_planner_writes_is_what_Spark_reads() {
    Random random = new Random(7);

    for (int turn = 0; turn < 500; turn++) {
      String text = drawn(random, 3);
      assertEquals(DataType.fromDDL(text), TypeText.read(text), text);
    }
  }

  @Test
  void other_texts_of_the_same_types_are_read_by_Spark() {
    DataType wanted = DataTypes.createArrayType(DataTypes.LongType);

    assertEquals(wanted, TypeText.read("ARRAY< long >"));
    assertEquals(DataTypes.createDecimalType(10, 0), TypeText.read("decimal"));
    assertEquals(DataType.fromDDL("struct<id:int>"), TypeText.read("struct<id:int>"));
    assertEquals(DataType.fromDDL("id int, name string"), TypeText.read("id int, name string"));
  }

  @Test
  void what_names_no_type_is_refused_as_Spark_refuses_it() {
    for (String text : new String[] {"strin", "array<int", "decimal(39,0)", "decimal(2,3)", "int>"}) {
      assertThrows(Exception.class, () -> TypeText.read(text), text);
    }
  }

  private static String drawn(Random random, int depth) {
    return switch (depth == 0 ? 3 : random.nextInt(4)) {
      case 0 -> "array<" + drawn(random, depth - 1) + ">";
      case 1 -> "map<" + drawn(random, depth - 1) + "," + drawn(random, depth - 1) + ">";
      case 2 -> fields(random, depth - 1);
      default -> ATOMS[random.nextInt(ATOMS.length)];
    };
  }

  private static String fields(Random random, int depth) {
    StringBuilder text = new StringBuilder("struct<");
    for (int i = random.nextInt(NAMES.length + 1); i-- > 0; ) {
      text.append('`').append(NAMES[i]).append("`:").append(drawn(random, depth));
      text.append(i > 0 ? "," : "");
    }
    return text.append('>').toString();
  }
}
