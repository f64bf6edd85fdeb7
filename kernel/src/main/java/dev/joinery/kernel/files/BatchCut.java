package dev.joinery.kernel.files;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Chooses where a batch ends: topics get equal shares of its room, what one leaves goes to the
 * others; within a topic files in name order, lines in file order.
 */
final class BatchCut {
  private final FileCatalog catalog;
  private final LineScan scan = new LineScan();

  /** The places found on the way, by file, where the batch may be split. */
  final Map<KnownFile, List<Progress.Point>> marks = new HashMap<>();

  BatchCut(FileCatalog catalog) {
    this.catalog = catalog;
  }

  /** Returns where a batch from {@code start} ends. */
  FilesOffset end(FilesOffset start, List<String> topics, long maxLines, long maxBytes) {
    marks.clear();
    List<Reading> active = new ArrayList<>();
    Map<String, Progress> end = new HashMap<>(start.topics);
    for (String topic : topics) {
      Reading reading = new Reading(topic, start.topic(topic));
      if (reading.file != null) {
        active.add(reading);
      }
    }
    long lines = maxLines;
    long bytes = maxBytes;
    while (lines > 0 && bytes > 0 && !active.isEmpty()) {
      long lineShare = Math.max(1, lines / active.size());
      long byteShare = Math.max(1, bytes / active.size());
      for (Iterator<Reading> each = active.iterator(); each.hasNext() && lines > 0 && bytes > 0; ) {
        Reading reading = each.next();
        Progress before = reading.progress;
        reading.advance(lineShare, byteShare);
        lines -= reading.progress.lines() - before.lines();
        bytes -= reading.progress.bytes() - before.bytes();
        end.put(reading.topic, reading.progress);
        if (reading.file == null) {
          each.remove();
        }
      }
    }
    return new FilesOffset(end);
  }

  /** One topic on its way to the batch's end. */
  private final class Reading {
    final String topic;
    private final Iterator<KnownFile> files;
    Progress progress;

    /** The file read next, null at the topic's end. */
    KnownFile file;

    Reading(String topic, Progress progress) {
      this.topic = topic;
      this.progress = progress;
      this.files = catalog.unread(topic, progress.done()).iterator();
      next();
    }

    private void next() {
      file = files.hasNext() ? files.next() : null;
    }

    void advance(long maxLines, long maxBytes) {
      Progress begin = progress;
      while (file != null) {
        long lines = maxLines - (progress.lines() - begin.lines());
        long bytes = maxBytes - (progress.bytes() - begin.bytes());
        if (lines <= 0 || bytes <= 0) {
          return;
        }
        Progress.Point from = progress.point(file.number());
        Progress.Point to =
            scan.scan(catalog.path(topic, file.name()), file.size(), from, lines, bytes);
        marks.computeIfAbsent(file, each -> new ArrayList<>()).addAll(scan.marks);
        boolean end = to.offset() >= file.size();
        progress = progress.after(file.number(), to, end);
        if (end) {
          next();
        }
      }
    }
  }
}
