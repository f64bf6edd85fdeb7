package dev.joinery.kernel.files;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Divides what lies between two offsets among tasks, balanced by bytes, at line starts. */
final class BatchPlan {
  private static final long LEAST_TASK_BYTES = 1 << 19;

  private final FileCatalog catalog;
  private final List<String> topics;
  private final List<String> inOrder;

  /** {@code inOrder}: topics each of which is read by one task. */
  BatchPlan(FileCatalog catalog, List<String> topics, List<String> inOrder) {
    this.catalog = catalog;
    this.topics = topics;
    this.inOrder = inOrder;
  }

  /** Returns all lines between two offsets, topic by topic, files in name order. */
  List<FileSlice> slices(FilesOffset start, FilesOffset end) {
    List<FileSlice> slices = new ArrayList<>();
    for (int topic = 0; topic < topics.size(); topic++) {
      String name = topics.get(topic);
      Progress from = start.topic(name);
      Progress to = end.topic(name);
      for (KnownFile file : touched(name, from, to)) {
        Progress.Point first = from.point(file.number());
        long last =
            to.done().get(file.number()) ? file.size() : to.point(file.number()).offset();
        if (last > first.offset()) {
          slices.add(slice(catalog, topic, file, first, last));
        }
      }
    }
    return slices;
  }

  /** Returns the lines of a file from {@code first} to the byte {@code last}. */
  static FileSlice slice(
      FileCatalog catalog, int topic, KnownFile file, Progress.Point first, long last) {
    String path = catalog.path(file.topic(), file.name()).toString();
    String original = KnownFile.original(file.name());
    String name = original == null ? file.name() : original;
    long line = first.line() + 1;
    boolean replay = original != null;
    return new FileSlice(topic, path, name, file.label(), first.offset(), last, line, replay);
  }

  private List<KnownFile> touched(String topic, Progress from, Progress to) {
    BitSet numbers = (BitSet) to.done().clone();
    numbers.andNot(from.done());
    to.open().keySet().forEach(numbers::set);
    List<KnownFile> files = new ArrayList<>();
    numbers.stream().forEach(number -> files.add(catalog.file(topic, number)));
    files.sort((left, right) -> Long.compare(left.label(), right.label()));
    return files;
  }

  /**
   * Returns the slices of each task.
   *
   * @param marks places where files may be split, as far as they are known already
   */
  List<List<FileSlice>> tasks(
      List<FileSlice> slices, int most, Map<KnownFile, List<Progress.Point>> marks) {
    if (inOrder.isEmpty()) {
      return divided(slices, most, marks);
    }
    Map<Integer, List<FileSlice>> whole = new TreeMap<>();
    List<FileSlice> rest = new ArrayList<>();
    for (FileSlice each : slices) {
      boolean together = inOrder.contains(topics.get(each.topic()));
      (together ? whole.computeIfAbsent(each.topic(), topic -> new ArrayList<>()) : rest).add(each);
    }
    List<List<FileSlice>> tasks = new ArrayList<>(whole.values());
    tasks.addAll(divided(rest, Math.max(1, most - tasks.size()), marks));
    return tasks;
  }

  private List<List<FileSlice>> divided(
      List<FileSlice> slices, int most, Map<KnownFile, List<Progress.Point>> marks) {
    long bytes = slices.stream().mapToLong(FileSlice::bytes).sum();
    int count = (int) Math.max(1, Math.min(most, bytes / LEAST_TASK_BYTES));
    List<List<FileSlice>> tasks = new ArrayList<>();
    List<FileSlice> task = new ArrayList<>();
    long given = 0;
    for (FileSlice slice : slices) {
      FileSlice rest = slice;
      while (tasks.size() < count - 1
          && given + rest.bytes() >= bytes * (tasks.size() + 1) / count) {
        long goal = rest.from() + bytes * (tasks.size() + 1) / count - given;
        Progress.Point point = nearest(rest, goal, marks);
        if (point != null) {
          task.add(rest.until(point));
          given += point.offset() - rest.from();
          rest = rest.since(point);
        } else {
          task.add(rest);
          given += rest.bytes();
          rest = null;
        }
        tasks.add(task);
        task = new ArrayList<>();
        if (rest == null) {
          break;
        }
      }
      if (rest != null && rest.bytes() > 0) {
        task.add(rest);
        given += rest.bytes();
      }
    }
    if (!task.isEmpty()) {
      tasks.add(task);
    }
    tasks.removeIf(List::isEmpty);
    return tasks;
  }

  /** Returns the place nearest to {@code goal} inside the slice, null where its end is nearer. */
  private Progress.Point nearest(
      FileSlice slice, long goal, Map<KnownFile, List<Progress.Point>> marks) {
    Progress.Point best = null;
    long distance = slice.to() - goal;
    for (Progress.Point point : marksOf(slice, marks)) {
      boolean inside = point.offset() > slice.from() && point.offset() < slice.to();
      if (inside && Math.abs(point.offset() - goal) < distance) {
        best = point;
        distance = Math.abs(point.offset() - goal);
      }
    }
    return best;
  }

  private List<Progress.Point> marksOf(
      FileSlice slice, Map<KnownFile, List<Progress.Point>> marks) {
    String topic = topics.get(slice.topic());
    KnownFile file = catalog.file(topic, Path.of(slice.path()).getFileName().toString());
    return marks.computeIfAbsent(file, each -> rescan(each, slice));
  }

  /** A batch that runs again after a restart has no marks yet. */
  private List<Progress.Point> rescan(KnownFile file, FileSlice slice) {
    LineScan scan = new LineScan();
    scan.scan(
        catalog.path(file.topic(), file.name()),
        slice.to(),
        new Progress.Point(slice.firstLine() - 1, slice.from()),
        Long.MAX_VALUE,
        Long.MAX_VALUE);
    return List.copyOf(scan.marks);
  }
}
