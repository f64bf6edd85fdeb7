package dev.joinery.kernel.files;

import java.io.Serializable;

/**
 * Whole lines of one file.
 *
 * @param topic the topic's number
 * @param path where the file stands
 * @param from the first byte
 * @param to the byte after the last
 * @param name of the file whose places its lines have: its own, or for a replay the original's
 * @param firstLine the number of the first line, from 1
 * @param replay whether each line begins with the number it had in the original, and a tab
 */
record FileSlice(
    int topic,
    String path,
    String name,
    long label,
    long from,
    long to,
    long firstLine,
    boolean replay)
    implements Serializable {
  long bytes() {
    return to - from;
  }

  FileSlice until(Progress.Point point) {
    return new FileSlice(topic, path, name, label, from, point.offset(), firstLine, replay);
  }

  FileSlice since(Progress.Point point) {
    long line = point.line() + 1;
    return new FileSlice(topic, path, name, label, point.offset(), to, line, replay);
  }
}
