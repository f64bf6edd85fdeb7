package dev.joinery.kernel.files;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Remembers all files of all topics that were seen, with their labels, and finds new ones.
 *
 * <p>A label orders a topic's files as the bytes of their names do, and never changes: a new last
 * file is far above the last, one in between takes the middle.
 */
final class FileCatalog {
  static final long LABEL_STEP = 1L << 40;
  private static final String SUFFIX = ".jsonl";
  private static final long SETTLED_MS = 3000;
  private static final Comparator<String> BYTES =
      (left, right) ->
          Arrays.compareUnsigned(
              left.getBytes(StandardCharsets.UTF_8), right.getBytes(StandardCharsets.UTF_8));

  private static final Comparator<KnownFile> BY_NAME = Comparator.comparing(KnownFile::name, BYTES);

  private final Path root;
  private final Map<String, Map<String, Long>> sizes;
  private final LabelLog log;
  private final Chain chain;
  private final Listing listing = new Listing(BYTES);
  private final Map<String, Topic> topics = new LinkedHashMap<>();

  /** A topic's files by name, and by number. */
  private static final class Topic {
    final TreeMap<String, KnownFile> byName = new TreeMap<>(BYTES);

    /** The files that put lines of others back; they stand in no order with the others. */
    final TreeMap<String, KnownFile> replays = new TreeMap<>(BYTES);

    final List<KnownFile> byNumber = new ArrayList<>();

    /** Those of all its files. */
    long bytes;

    /** When the folder last changed, where a listing since then has surely seen it all. */
    FileTime seen;

    void add(KnownFile file) {
      if (file.number() != byNumber.size()) {
        throw new FilesError(
            "topic \"" + file.topic() + "\": the checkpoint's labels of files are not whole");
      }
      (originalOf(file.name()) == null ? byName : replays).put(file.name(), file);
      byNumber.add(file);
      bytes += file.size();
    }

    boolean knows(String name) {
      return byName.containsKey(name) || replays.containsKey(name);
    }

    /** Returns the file whose lines {@code name} puts back, where that file was seen. */
    KnownFile originalOf(String name) {
      String original = KnownFile.original(name);
      return original == null ? null : byName.get(original);
    }
  }

  /**
   * @param log null where nothing outlives this object (a batch read)
   */
  FileCatalog(FilesOptions options, LabelLog log) {
    this.root = Path.of(options.path());
    this.sizes = options.sizes();
    this.log = log;
    chain = options.tail().isEmpty() ? null : new Chain(Path.of(options.tail()).getParent());
    options.topics().forEach(name -> topics.put(name, new Topic()));
    if (log != null) {
      log.read().forEach(file -> topic(file.topic()).add(file));
    }
  }

  private Topic topic(String name) {
    return topics.computeIfAbsent(name, each -> new Topic());
  }

  /** Looks for new files of these topics and labels them, durably. */
  void discover(List<String> names) {
    List<KnownFile> found = new ArrayList<>();
    for (String name : names) {
      Topic topic = topic(name);
      List<String> files = unseen(name, topic);
      List<String> replays = new ArrayList<>();
      files.sort(BYTES);
      files.removeIf(each -> KnownFile.original(each) != null && replays.add(each));
      found.addAll(label(name, topic, files));
      replays.forEach(each -> found.add(labelReplay(name, topic, each)));
    }
    if (!found.isEmpty() && log != null) {
      log.append(found);
    }
  }

  private List<String> unseen(String name, Topic topic) {
    List<String> found = new ArrayList<>();
    Path folder = root.resolve(name);
    FileTime seen = settled(folder);
    if (seen != null && seen.equals(topic.seen)) {
      return found;
    }
    try {
      long last = chain == null ? 0 : chain.last(name);
      found.addAll(listing.of(folder, each -> isNew(folder, topic, each)));
      if (chain != null) {
        chain.check(name, found, topic.byName.navigableKeySet(), last);
      }
    } catch (IOException failure) {
      throw new FilesError("could not list the files of topic \"" + name + "\"", failure);
    }
    topic.seen = seen;
    return found;
  }

  private static boolean isNew(Path folder, Topic topic, String name) {
    boolean hidden = name.startsWith(".") || name.startsWith("_");
    return !hidden
        && name.endsWith(SUFFIX)
        && !topic.knows(name)
        && Files.isRegularFile(folder.resolve(name));
  }

  /** Returns when the folder last changed, null where it may change again within that instant. */
  private static FileTime settled(Path folder) {
    try {
      FileTime changed = Files.getLastModifiedTime(folder);
      return System.currentTimeMillis() - changed.toMillis() > SETTLED_MS ? changed : null;
    } catch (IOException notThereYet) {
      return null;
    }
  }

  /** Labels files in name order; those that share a gap divide it evenly. */
  private List<KnownFile> label(String name, Topic topic, List<String> files) {
    List<KnownFile> labelled = new ArrayList<>();
    int i = 0;
    while (i < files.size()) {
      Map.Entry<String, KnownFile> before = topic.byName.lowerEntry(files.get(i));
      Map.Entry<String, KnownFile> after = topic.byName.higherEntry(files.get(i));
      int end = i + 1;
      while (end < files.size()
          && (after == null || BYTES.compare(files.get(end), after.getKey()) < 0)) {
        end++;
      }
      List<KnownFile> group = fill(name, topic, files.subList(i, end), before, after);
      group.forEach(topic::add);
      labelled.addAll(group);
      i = end;
    }
    return labelled;
  }

  /** A replay's lines have the places they had in its original. */
  private KnownFile labelReplay(String name, Topic topic, String file) {
    KnownFile original = topic.originalOf(file);
    if (original == null) {
      return label(name, topic, List.of(file)).get(0);
    }
    KnownFile replay =
        new KnownFile(name, topic.byNumber.size(), file, original.label(), size(name, file));
    topic.add(replay);
    return replay;
  }

  private List<KnownFile> fill(
      String name,
      Topic topic,
      List<String> files,
      Map.Entry<String, KnownFile> before,
      Map.Entry<String, KnownFile> after) {
    long step = LABEL_STEP;
    long first;
    if (after == null) {
      first = before == null ? step : before.getValue().label() + step;
    } else if (before == null) {
      first = after.getValue().label() - step * files.size();
    } else {
      long low = before.getValue().label();
      step = (after.getValue().label() - low) / (files.size() + 1);
      first = low + step;
    }
    if (step == 0) {
      throw new FilesError(noRoom(name, files.get(0), before.getKey(), after.getKey()));
    }
    List<KnownFile> labelled = new ArrayList<>();
    for (String file : files) {
      int number = topic.byNumber.size() + labelled.size();
      long label = first + step * labelled.size();
      labelled.add(new KnownFile(name, number, file, label, size(name, file)));
    }
    return labelled;
  }

  private static String noRoom(String topic, String file, String before, String after) {
    return String.format(
        "topic \"%s\": too many files came late between \"%s\" and \"%s\"; rename \"%s\" so that"
            + " it sorts after the files already read",
        topic, before, after, file);
  }

  private long size(String topic, String file) {
    try {
      long whole = Files.size(path(topic, file));
      return Math.min(whole, sizes.getOrDefault(topic, Map.of()).getOrDefault(file, whole));
    } catch (IOException failure) {
      throw new FilesError("could not read " + path(topic, file), failure);
    }
  }

  Path path(String topic, String file) {
    return folder(topic).resolve(file);
  }

  Path folder(String topic) {
    return root.resolve(topic);
  }

  /** Returns a topic's last file by name, but for those that put lines back; null for none. */
  KnownFile last(String topic) {
    Map.Entry<String, KnownFile> last = topic(topic).byName.lastEntry();
    return last == null ? null : last.getValue();
  }

  /** Returns a topic's files that are not done, in name order, then those that put lines back. */
  List<KnownFile> unread(String name, BitSet done) {
    Topic topic = topic(name);
    List<KnownFile> files = new ArrayList<>();
    List<KnownFile> replays = new ArrayList<>();
    for (int i = done.nextClearBit(0); i < topic.byNumber.size(); i = done.nextClearBit(i + 1)) {
      KnownFile file = topic.byNumber.get(i);
      (topic.replays.containsKey(file.name()) ? replays : files).add(file);
    }
    files.sort(BY_NAME);
    replays.sort(BY_NAME);
    files.addAll(replays);
    return files;
  }

  /** Returns the file that has the number of a name, as one that was being written, once seen. */
  KnownFile numbered(String topic, String name) {
    TreeMap<String, KnownFile> byName = topic(topic).byName;
    String found = Chain.numbered(byName.navigableKeySet(), Chain.number(name));
    return found == null ? null : byName.get(found);
  }

  /** Returns the file of this name, which was seen. */
  KnownFile file(String topic, String name) {
    KnownFile file = topic(topic).byName.get(name);
    return file == null ? topic(topic).replays.get(name) : file;
  }

  /** Returns the file with this number. */
  KnownFile file(String topic, int number) {
    List<KnownFile> files = topic(topic).byNumber;
    if (number >= files.size()) {
      throw new FilesError(
          "topic \"" + topic + "\": the checkpoint counts on a file that its labels lack");
    }
    return files.get(number);
  }

  int count(String topic) {
    return topic(topic).byNumber.size();
  }

  long bytes(String topic) {
    return topic(topic).bytes;
  }
}
