package dev.joinery.kernel.files;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.BitSet;
import java.util.Map;
import java.util.TreeMap;

/**
 * How far one topic has been read: files by their numbers, wholly or up to a line.
 *
 * @param done the files read to their end
 * @param open the files read in part
 * @param lines all lines read
 * @param bytes all bytes read
 * @param tail the file read in part that is not complete yet, and so has no number; null for none
 */
record Progress(
    BitSet done, Map<Integer, Point> open, long lines, long bytes, Tail tail) {
  /** How far a file was read that is still being written; it has this name once it is complete. */
  record Tail(String file, Point point) {}

  Progress(BitSet done, Map<Integer, Point> open, long lines, long bytes) {
    this(done, open, lines, bytes, null);
  }


  /** After a number of lines and bytes of a file. */
  record Point(long line, long offset) {
    static final Point START = new Point(0, 0);
  }

  static Progress none() {
    return new Progress(new BitSet(), new TreeMap<>(), 0, 0);
  }

  /** Returns where reading of this file goes on. */
  Point point(int file) {
    return open.getOrDefault(file, Point.START);
  }

  /** Returns the progress after reading a file up to {@code to}, or to its end. */
  Progress after(int file, Point to, boolean end) {
    BitSet doneAfter = (BitSet) done.clone();
    Map<Integer, Point> openAfter = new TreeMap<>(open);
    Point from = point(file);
    openAfter.remove(file);
    if (end) {
      doneAfter.set(file);
    } else if (!to.equals(Point.START)) {
      openAfter.put(file, to);
    }
    return new Progress(
        doneAfter,
        openAfter,
        lines + to.line() - from.line(),
        bytes + to.offset() - from.offset(),
        tail);
  }

  /** Returns the same progress once the tail's file is complete, as one among the others. */
  Progress completed(KnownFile file) {
    BitSet doneAfter = (BitSet) done.clone();
    Map<Integer, Point> openAfter = new TreeMap<>(open);
    if (tail.point().offset() >= file.size()) {
      doneAfter.set(file.number());
    } else if (!tail.point().equals(Point.START)) {
      openAfter.put(file.number(), tail.point());
    }
    return new Progress(doneAfter, openAfter, lines, bytes, null);
  }

  /** Writes files as runs of numbers: {@code "0-41,43"}. */
  ObjectNode toJson() {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    StringBuilder runs = new StringBuilder();
    for (int from = done.nextSetBit(0); from >= 0; ) {
      int end = done.nextClearBit(from);
      runs.append(runs.length() > 0 ? "," : "").append(from);
      runs.append(end - from > 1 ? "-" + (end - 1) : "");
      from = done.nextSetBit(end);
    }
    json.put("done", runs.toString());
    if (!open.isEmpty()) {
      ArrayNode points = json.putArray("open");
      open.forEach((file, at) -> points.addArray().add(file).add(at.line()).add(at.offset()));
    }
    if (tail != null) {
      Point at = tail.point();
      json.putArray("tail").add(tail.file()).add(at.line()).add(at.offset());
    }
    return json.put("lines", lines).put("bytes", bytes);
  }

  static Progress ofJson(JsonNode json) {
    BitSet done = new BitSet();
    String runs = json.path("done").asText();
    for (String run : runs.isEmpty() ? new String[0] : runs.split(",")) {
      String[] ends = run.split("-");
      done.set(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]) + 1);
    }
    Map<Integer, Point> open = new TreeMap<>();
    for (JsonNode each : json.path("open")) {
      open.put(each.get(0).asInt(), new Point(each.get(1).asLong(), each.get(2).asLong()));
    }
    return new Progress(
        done, open, json.path("lines").asLong(), json.path("bytes").asLong(), tailOf(json));
  }

  private static Tail tailOf(JsonNode json) {
    JsonNode told = json.path("tail");
    Point at = new Point(told.path(1).asLong(), told.path(2).asLong());
    return told.isMissingNode() ? null : new Tail(told.path(0).asText(), at);
  }
}
