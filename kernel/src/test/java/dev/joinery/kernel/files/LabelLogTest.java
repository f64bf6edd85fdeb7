package dev.joinery.kernel.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LabelLogTest {
  /** A folder in memory, which counts what is written and may fail to delete. */
  private static final class Memory implements LogFolder {
    final Map<String, byte[]> files = new TreeMap<>();
    long written;
    boolean failing;

    @Override
    public List<String> names() {
      return List.copyOf(files.keySet());
    }

    @Override
    public byte[] read(String name) {
      return files.get(name);
    }

    @Override
    public void write(String name, byte[] content) {
      files.put(name, content);
      written += content.length;
    }

    @Override
    public void delete(String name) throws IOException {
      if (failing) {
        throw new IOException("the disk is gone");
      }
      files.remove(name);
    }
  }

  private final Memory folder = new Memory();

  private static KnownFile file(int number) {
    return new KnownFile("a", number, number + ".jsonl", number, 7);
  }

  private static void append(LabelLog log, int from, int to) {
    IntStream.range(from, to).forEach(number -> log.append(List.of(file(number))));
  }

  private List<Integer> numbers() {
    return new LabelLog(folder).read().stream().map(KnownFile::number).toList();
  }

  private static List<Integer> upTo(int count) {
    return IntStream.range(0, count).boxed().toList();
  }

  @Test
  void filesComeBackInTheirOrderFromFewSegments() {
    append(new LabelLog(folder), 0, 5000);

    assertEquals(upTo(5000), numbers());
    assertEquals(1 + 14 + 8, folder.files.size()); // 5000 to the base of 64
  }

  @Test
  void aFileIsWrittenAsOftenAsItsSegmentsHaveDigits() {
    append(new LabelLog(folder), 0, 10_000);

    long kept = folder.files.values().stream().mapToLong(each -> each.length).sum();
    assertTrue(folder.written < 4 * kept, folder.written + " bytes for " + kept);
  }

  @Test
  void whatACrashLeavesOfSegmentsThatAnotherHoldsIsNotRead() {
    LabelLog log = new LabelLog(folder);
    append(log, 0, 63);
    folder.failing = true;

    assertThrows(FilesError.class, () -> log.append(List.of(file(63))));
    folder.failing = false;

    assertEquals(64, folder.files.size());
    assertEquals(upTo(64), numbers());
    LabelLog again = new LabelLog(folder);
    again.read();
    append(again, 64, 4096);
    assertEquals(1, folder.files.size());
    assertEquals(upTo(4096), numbers());
  }

  @Test
  void segmentsOfBeforeEachOfWhichHeldAllAreReadOn() {
    StringBuilder text = new StringBuilder("{\"format\":1,\"all\":true}\n");
    for (int i = 0; i < 3; i++) {
      text.append("{\"topic\":\"a\",\"number\":").append(i).append(",\"file\":\"").append(i);
      text.append(".jsonl\",\"label\":").append(i).append(",\"size\":7}\n");
    }
    folder.files.put("000000063.labels", text.toString().getBytes(StandardCharsets.UTF_8));
    LabelLog log = new LabelLog(folder);
    assertEquals(3, log.read().size());

    append(log, 3, 5000);

    assertEquals(upTo(5000), numbers());
  }
}
