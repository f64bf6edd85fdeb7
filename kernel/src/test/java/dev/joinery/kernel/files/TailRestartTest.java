package dev.joinery.kernel.files;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.joinery.kernel.admission.BatchSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A table's files as a capture writes them, killed now and then, and whoever reads them meanwhile. */
class TailRestartTest {
  private static final int STEPS = 80;
  private static final TailRows ROWS = new TailRows(3);

  @TempDir private Path root;
  private Random random;
  private Written writes;
  private FilesStream stream;
  private TailReader reader;

  /** Where the time at hand began, and what was read in it. */
  private Offset begun;

  private final List<String> fresh = new ArrayList<>();
  private final List<String> read = new ArrayList<>();

  /** What a capture does. */
  private final class Written {
    final List<String> lines = new ArrayList<>();
    private final Path complete = root.resolve("files").resolve("a");
    private final Path folder = root.resolve("tail").resolve("a");
    private Path tail;
    private long number;
    private long before;
    private int inFile;
    private boolean broken;

    Written() throws IOException {
      Files.createDirectories(complete);
      Files.createDirectories(folder);
    }

    void append() throws IOException {
      beginAnew();
      begin();
      for (int i = random.nextInt(3); i >= 0; i--) {
        write(line() + "\n");
      }
    }

    private void begin() {
      if (tail == null) {
        tail = folder.resolve(String.format("%016d.%016d.jsonl", ++number, before));
        inFile = 0;
      }
    }

    private String line() {
      String value = "é".repeat(random.nextInt(3)) + lines.size();
      lines.add(String.format("%03d:%d=%s", number, ++inFile, value));
      return value;
    }

    private void write(String text) throws IOException {
      Files.writeString(tail, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    void complete() throws IOException {
      beginAnew();
      if (tail != null) {
        Files.move(tail, complete.resolve(tail.getFileName()));
        before = number;
        tail = null;
      }
    }

    /** Puts files in place that were read beside the log. */
    void adopt() throws IOException {
      complete();
      for (int i = random.nextInt(3); i >= 0; i--) {
        String name = String.format("%016d.%016d.jsonl", ++number, before);
        before = number;
        inFile = 0;
        Files.writeString(complete.resolve(name), line() + "\n");
      }
    }

    /** Is killed within a line. */
    void breakOff() throws IOException {
      beginAnew();
      begin();
      write("bro");
      broken = true;
    }

    /** Completes what was left, as far as its lines are whole. */
    private void beginAnew() throws IOException {
      if (!broken) {
        return;
      }
      broken = false;
      String text = Files.readString(tail);
      Files.writeString(tail, text.substring(0, text.lastIndexOf('\n') + 1));
      if (text.contains("\n")) {
        complete();
      } else {
        Files.delete(tail);
        tail = null;
        number = before;
      }
    }
  }

  private FilesStream open() {
    Map<String, String> options =
        Map.of(
            "path", root.resolve("files").toString(),
            "tail", root.resolve("tail").toString(),
            "topics", "[\"a\"]",
            "maxRowsPerBatch", "3");
    FilesOptions parsed = FilesOptions.of(new CaseInsensitiveStringMap(options));
    BatchSize size = new BatchSize(parsed.batch(), () -> 1L << 30, () -> 0);
    return new FilesStream(parsed, 2, new LogFolder.Local(root.resolve("log")), size);
  }

  private void begin(Offset start) {
    begun = start;
    read.addAll(fresh);
    fresh.clear();
    InputPartition[] partitions = stream.planInputPartitions(start);
    reader = (TailReader) stream.createReaderFactory().createReader(partitions[0]);
  }

  private void readSome(int most) throws IOException {
    for (int i = 0; i < most && reader.nextWithTimeout(0L).hasRecord(); i++) {
      fresh.add(ROWS.of(reader.get()));
    }
  }

  private Offset end() throws IOException {
    Offset end = stream.mergeOffsets(new PartitionOffset[] {reader.getOffset()});
    reader.close();
    return FilesOffset.of(end.json());
  }

  /** Ends the time, and begins another one, at times of another run. */
  private void goOn() throws IOException {
    Offset end = end();
    if (random.nextBoolean()) {
      stream = open();
    }
    begin(end);
  }

  /** Ends the time without committing it, so that what was read comes again in a batch. */
  private void crash() throws IOException {
    Offset end = end();
    writes.complete();
    stream = open();
    assertEquals(fresh, batch(begun, end));
    begin(end);
  }

  /** Goes on in batches for once. */
  private void readBatch() throws IOException {
    Offset end = end();
    Offset later = stream.latestOffset(end, ReadLimit.maxRows(Long.MAX_VALUE));
    begin(later);
    read.addAll(batch(end, later));
  }

  private List<String> batch(Offset start, Offset end) throws IOException {
    return ROWS.of(stream, start, end);
  }

  @RepeatedTest(20)
  @Timeout(60)
  void whateverIsWrittenIsReadOnceWhereverReadingStops(RepetitionInfo seed) throws IOException {
    random = new Random(seed.getCurrentRepetition());
    writes = new Written();
    stream = open();
    begin(stream.initialOffset());

    for (int step = 0; step < STEPS; step++) {
      switch (random.nextInt(12)) {
        case 0, 1, 2 -> writes.append();
        case 3 -> writes.complete();
        case 4 -> writes.adopt();
        case 5 -> writes.breakOff();
        case 6, 7, 8 -> readSome(random.nextInt(5));
        case 9 -> goOn();
        case 10 -> readBatch();
        default -> crash();
      }
    }
    writes.complete();
    begin(end());
    while (read.size() + fresh.size() < writes.lines.size()) {
      readSome(Integer.MAX_VALUE);
    }
    begin(end());
    readSome(1);
    begin(end());

    assertEquals(writes.lines, read);
  }
}
