package dev.joinery.kernel.files;

import java.io.Serializable;

/**
 * Whole lines of one file.
 *
 * @param topic the topic's number
 * @param path where the file stands
 * @param from the first byte
 * @param to the byte after the last
 * @param firstLine the number of the first line, from 1
 */
record FileSlice(
    int topic, String path, String name, long label, long from, long to, long firstLine)
    implements Serializable {
  long bytes() {
    return to - from;
  }

  FileSlice until(Progress.Point point) {
    return new FileSlice(topic, path, name, label, from, point.offset(), firstLine);
  }

  FileSlice since(Progress.Point point) {
    return new FileSlice(topic, path, name, label, point.offset(), to, point.line() + 1);
  }
}
