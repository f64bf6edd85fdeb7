package dev.joinery.kernel.files;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Remembers, in the source's own folder of the checkpoint, which files were seen in which order and
 * how they are labelled.
 *
 * <p>Each discovery is a segment. The last of 64 segments holds those before it too, which are
 * deleted, and so does the last of 64 such segments: a file's line is written as often as the
 * number of segments has digits to the base of 64, and there are at most 63 segments a digit.
 *
 * <p>Invariant: a segment stands complete under its name before an offset counts on it, and before
 * those that it holds are deleted. What is left of these after a crash is not read.
 */
final class LabelLog {
  private static final int FORMAT = 1;
  private static final int TOGETHER = 64;
  private static final String SUFFIX = ".labels";
  private static final ObjectMapper JSON = new ObjectMapper();

  private final LogFolder folder;
  private int next;

  /**
   * A segment as it stands in the folder.
   *
   * @param since the first of the segments that it holds, its own number where that is one
   * @param lines those of its files
   */
  private record Segment(int number, int since, List<String> lines) {}

  LabelLog(LogFolder folder) {
    this.folder = folder;
  }

  /** Returns all files that were ever seen, each topic's in the order of their numbers. */
  List<KnownFile> read() {
    try {
      List<KnownFile> files = new ArrayList<>();
      for (Segment segment : standing(0)) {
        for (String line : segment.lines()) {
          files.add(file(JSON.readTree(line)));
        }
        next = segment.number() + 1;
      }
      return files;
    } catch (IOException failure) {
      throw new FilesError("could not read the labels of files in " + folder, failure);
    }
  }

  /** Adds files that were found. */
  void append(List<KnownFile> found) {
    try {
      List<Segment> held = since(next) < next ? standing(since(next)) : List.of();
      int since = held.isEmpty() ? since(next) : Math.min(since(next), held.get(0).since());
      folder.write(name(next), text(since, held, found).getBytes(StandardCharsets.UTF_8));
      if (!held.isEmpty()) {
        for (int old : segments()) {
          if (old >= since && old < next) {
            folder.delete(name(old));
          }
        }
      }
    } catch (IOException failure) {
      throw new FilesError("could not write the labels of files to " + folder, failure);
    }
    next++;
  }

  private static String text(int since, List<Segment> held, List<KnownFile> found) {
    ObjectNode head = JSON.createObjectNode().put("format", FORMAT);
    StringBuilder text = new StringBuilder();
    text.append(head.put("all", since == 0).put("since", since)).append('\n');
    held.forEach(segment -> segment.lines().forEach(line -> text.append(line).append('\n')));
    found.forEach(file -> text.append(line(file)).append('\n'));
    return text.toString();
  }

  /** Returns the first of the segments that this one holds. */
  private static int since(int segment) {
    long together = 1;
    while (segment % (together * TOGETHER) == together * TOGETHER - 1) {
      together *= TOGETHER;
    }
    return (int) (segment - together + 1);
  }

  /** Returns the segments from {@code first} on, in order, without those that others hold. */
  private List<Segment> standing(int first) throws IOException {
    List<Segment> standing = new ArrayList<>();
    List<Integer> there = segments();
    Collections.reverse(there);
    int since = Integer.MAX_VALUE;
    for (int number : there) {
      if (number >= first && number < since) {
        Segment segment = segment(number);
        since = segment.since();
        standing.add(segment);
      }
    }
    Collections.reverse(standing);
    return standing;
  }

  private List<Integer> segments() throws IOException {
    List<Integer> segments = new ArrayList<>();
    for (String name : folder.names()) {
      if (name.endsWith(SUFFIX) && Character.isDigit(name.charAt(0))) {
        segments.add(Integer.parseInt(name.substring(0, name.length() - SUFFIX.length())));
      }
    }
    Collections.sort(segments);
    return segments;
  }

  private static String name(int segment) {
    return String.format("%09d%s", segment, SUFFIX);
  }

  private Segment segment(int number) throws IOException {
    String text = new String(folder.read(name(number)), StandardCharsets.UTF_8);
    List<String> lines = List.of(text.split("\n"));
    JsonNode head = JSON.readTree(lines.get(0));
    if (head.path("format").asInt() != FORMAT) {
      throw new FilesError(
          "the labels of files in " + folder + " were written by another version of Joinery");
    }
    int since = head.path("since").asInt(head.path("all").asBoolean() ? 0 : number);
    return new Segment(number, since, lines.subList(1, lines.size()));
  }

  private static KnownFile file(JsonNode line) {
    return new KnownFile(
        line.path("topic").asText().intern(), // one text for all files of a topic
        line.path("number").asInt(),
        line.path("file").asText(),
        line.path("label").asLong(),
        line.path("size").asLong());
  }

  private static String line(KnownFile file) {
    ObjectNode line = JSON.createObjectNode();
    line.put("topic", file.topic()).put("number", file.number()).put("file", file.name());
    return line.put("label", file.label()).put("size", file.size()).toString();
  }
}
