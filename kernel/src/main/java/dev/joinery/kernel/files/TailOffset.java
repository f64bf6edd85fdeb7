package dev.joinery.kernel.files;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;

/**
 * How far a task of real time came in its topic.
 *
 * @param done the names of the files that it read to their end
 * @param file the one that it was reading; null for none
 * @param line after how many lines of that
 * @param offset after how many bytes of it
 * @param lines all that it read
 * @param bytes all that it read
 */
record TailOffset(
    String topic,
    ArrayList<String> done,
    String file,
    long line,
    long offset,
    long lines,
    long bytes)
    implements PartitionOffset {
  /** Returns the progress of the topic after what was read since {@code begun}. */
  Progress after(Progress begun, FileCatalog catalog) {
    BitSet doneAfter = (BitSet) begun.done().clone();
    Map<Integer, Progress.Point> open = new TreeMap<>(begun.open());
    for (String each : done) {
      int number = known(catalog, each).number();
      doneAfter.set(number);
      open.remove(number);
    }
    Progress.Point point = new Progress.Point(line, offset);
    KnownFile partly = file == null ? null : catalog.file(topic, file);
    if (partly != null && offset < partly.size()) {
      open.put(partly.number(), point);
    } else if (partly != null) {
      doneAfter.set(partly.number());
      open.remove(partly.number());
    }
    boolean written = file != null && partly == null;
    Progress.Tail tail = written ? new Progress.Tail(file, point) : untouched(begun.tail());
    return new Progress(doneAfter, open, begun.lines() + lines, begun.bytes() + bytes, tail);
  }

  /** Returns the file that was being written at the beginning, where the task did not come to it. */
  private Progress.Tail untouched(Progress.Tail begun) {
    if (begun == null) {
      return null;
    }
    String number = Chain.number(begun.file());
    boolean isOpen = file != null && number.equals(Chain.number(file));
    return isOpen || done.stream().map(Chain::number).anyMatch(number::equals) ? null : begun;
  }

  private KnownFile known(FileCatalog catalog, String name) {
    KnownFile file = catalog.file(topic, name);
    if (file == null) {
      throw new FilesError(
          "topic \"" + topic + "\": " + name + " was read and is gone: put it back");
    }
    return file;
  }
}
