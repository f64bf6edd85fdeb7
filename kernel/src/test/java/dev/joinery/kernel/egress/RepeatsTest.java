package dev.joinery.kernel.egress;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.render.ByteSink;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One line of a key is left in the parts of a batch: the newest. */
class RepeatsTest {
  private static final int KEY_FROM = 7;

  @TempDir Path folder;

  /** A line as it is staged; without a place where its key comes once. */
  private record Line(String key, String value, Event.Place place) {
    String text() {
      return "{\"key\":" + key + ",\"value\":\"" + value + "\"}\n";
    }
  }

  private static Event.Place at(long major, long minor) {
    return new Event.Place(true, 0, major, minor);
  }

  private Repeats.Listed part(int number, List<Line> lines) throws IOException {
    LineIndex index = new LineIndex();
    StringBuilder text = new StringBuilder();
    for (Line each : lines) {
      byte[] bytes = each.text().getBytes(StandardCharsets.UTF_8);
      ByteSink sink = new ByteSink(64);
      sink.append(bytes);
      ByteWriter place = new ByteWriter();
      if (each.place() != null) {
        each.place().write(place);
      }
      int keyTo = KEY_FROM + each.key().getBytes(StandardCharsets.UTF_8).length;
      index.add(sink, KEY_FROM, keyTo, Slice.of(place.toBytes()));
      text.append(each.text());
    }
    Path path = folder.resolve("part-%05d.jsonl".formatted(number));
    Files.writeString(path, text);
    return new Repeats.Listed(path, index.toBytes());
  }

  private List<String> left(List<Repeats.Listed> parts) throws IOException {
    List<String> left = new ArrayList<>();
    for (Repeats.Listed each : parts) {
      Files.readAllLines(each.file()).forEach(line -> left.add(line + "\n"));
    }
    Collections.sort(left);
    return left;
  }

  @Test
  void nothingIsWrittenAnewWithoutRepeats() throws IOException {
    Repeats.Listed part =
        part(0, List.of(new Line("1", "a", at(0, 1)), new Line("2", "b", at(0, 2))));
    Object before = Files.getAttribute(part.file(), "unix:ino");

    assertEquals(0, Repeats.remove(List.of(part)).lines());
    assertEquals(before, Files.getAttribute(part.file(), "unix:ino"));
  }

  @Test
  void anEventThatWasKeptIsOlderThanOneThatArrived() throws IOException {
    Line kept = new Line("1", "kept", at(0, 0).kept());
    Line arrived = new Line("1", "arrived", at(0, 0));
    List<Repeats.Listed> parts = List.of(part(0, List.of(kept)), part(1, List.of(arrived)));

    Repeats removed = Repeats.remove(parts);

    assertEquals(1, removed.lines());
    assertEquals(List.of(0), removed.rewritten());
    assertEquals(List.of(arrived.text()), left(parts));
  }

  @Test
  void linesWithoutAPlaceAreLeftAlone() throws IOException {
    Line plain = new Line("1", "plain", null);
    Line old = new Line("1", "old", at(0, 1));
    Line last = new Line("1", "new", at(0, 2));
    List<Repeats.Listed> parts = List.of(part(0, List.of(plain, old, plain, last, plain)));

    assertEquals(old.text().length(), Repeats.remove(parts).bytes());
    assertEquals(
        List.of(last.text(), plain.text(), plain.text(), plain.text()), left(parts));
  }

  @Test
  void aLineMayStandBehindMoreThanAnIntOfBytes() {
    ByteSink large = new ByteSink(1 << 20);
    large.append(new byte[1 << 20]);
    LineIndex index = new LineIndex();
    for (int i = 0; i < 3000; i++) {
      index.add(large, 0, 0, Slice.EMPTY);
    }
    ByteWriter place = new ByteWriter();
    at(0, 1).write(place);
    index.add(large, 0, 4, Slice.of(place.toBytes()));

    assertEquals(3000L << 20, new LineIndex.Reader(index.toBytes()).next().from());
  }

  @Test
  void ofManyLinesInManyPartsTheNewestOfEachKeyIsLeft() throws IOException {
    for (int seed = 0; seed < 50; seed++) {
      Random random = new Random(seed);
      Map<String, Line> newest = new TreeMap<>();
      List<List<Line>> lines = new ArrayList<>(List.of(new ArrayList<>()));
      int count = random.nextInt(400);
      for (int i = 0; i < count; i++) {
        String key = "{\"k\":\"ü" + random.nextInt(1 + random.nextInt(300)) + "\"}";
        Line line = new Line(key, "x".repeat(random.nextInt(300)) + i, at(0, i));
        newest.put(key, line);
        if (random.nextInt(90) == 0) {
          lines.add(new ArrayList<>());
        }
        lines.get(random.nextInt(lines.size())).add(line);
      }
      List<Repeats.Listed> parts = new ArrayList<>();
      for (List<Line> each : lines) {
        Collections.shuffle(each, random);
        parts.add(part(parts.size(), each));
      }

      Repeats removed = Repeats.remove(parts);

      assertEquals(count - newest.size(), removed.lines());
      assertEquals(newest.values().stream().map(Line::text).sorted().toList(), left(parts));
    }
  }
}
