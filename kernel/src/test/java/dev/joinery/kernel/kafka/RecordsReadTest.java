package dev.joinery.kernel.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class RecordsReadTest {
  private final RecordsRead read = new RecordsRead();

  private static LastRecord record(String topic, int partition, long offset) {
    return new LastRecord(topic, partition, offset, -1, 3L, null);
  }

  private static RecordsRead task(LastRecord last) {
    RecordsRead task = new RecordsRead();
    task.add(new RecordsRead.Part(10, 40, last));
    return task;
  }

  @Test
  void ofSeveralTasksTheLastRecordOfEachPartitionIsTold() {
    read.merge(task(record("a", 0, 7)));
    read.merge(task(record("a", 0, 5)));
    read.merge(task(record("a", 1, 2)));
    read.merge(task(null));

    assertEquals("{\"a\":{\"0\":[7,-1,3,null],\"1\":[2,-1,3,null]}}", read.take());
    assertEquals("{}", read.take());
    assertEquals(4, read.mean());
    assertEquals(0, read.mean());
  }

  @Test
  void whatATaskIsGivenIsEmpty() {
    read.merge(task(record("a", 0, 7)));

    assertEquals("{\"a\":{\"0\":[7,-1,3,null]}}", read.copy().take());
    assertTrue(read.copyAndReset().isZero());
  }
}
