package dev.joinery.kernel.door;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.junit.jupiter.api.Test;

class OneAfterAnotherTest {
  private final List<String> seen = new ArrayList<>();

  @Test
  void readsARecordOnlyWhenItIsAskedForAndClosesWhatIsRead() {
    Iterator<Row> records =
        new OneAfterAnother(
            new ArrayDeque<>(List.of(reader("a", 2), reader("b", 0), reader("c", 1))));

    seen.add("asked " + records.next().getString(0));
    seen.add("asked " + records.next().getString(0));
    seen.add("asked " + records.next().getString(0));

    assertFalse(records.hasNext());
    assertThrows(NoSuchElementException.class, records::next);
    assertEquals(
        "a1, asked a1, a2, asked a2, a closed, b closed, c1, asked c1, c closed",
        String.join(", ", seen));
  }

  private OneAfterAnother.Reader reader(String name, int count) {
    Queue<String> left = new ArrayDeque<>();
    for (int number = 1; number <= count; number++) {
      left.add(name + number);
    }
    return new OneAfterAnother.Reader() {
      @Override
      public Row read() {
        if (left.isEmpty()) {
          return null;
        }
        seen.add(left.element());
        return RowFactory.create(left.remove());
      }

      @Override
      public void close() {
        seen.add(name + " closed");
      }
    };
  }
}
