package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Takes the changes of a relation's row as versions, each valid from the time that it tells.
 *
 * <p>Of one time the later position stands. What a change leaves out is as in the version before its
 * time, at the moment it is taken.
 */
final class VersionLog {
  static final String TIMELESS = "event_without_time";

  private final RelationRows rows;
  private final int validFrom;
  private final int known;
  private final int[] told;
  private final Counters counters;
  private final Runnable timeless;
  private final UnsafeRow visible;
  private final UnsafeRow decoded;

  /**
   * @param validFrom over the row as products see it, the time from which it is valid
   * @param known over it, the time at which a change became known; -1 where that is not asked for
   * @param told what a delete has to tell to end a version, over decoded columns
   * @param timeless is run for each upsert without a time
   */
  VersionLog(
      RelationRows rows,
      int validFrom,
      int known,
      int[] told,
      Counters counters,
      Runnable timeless) {
    this.rows = rows;
    this.validFrom = validFrom;
    this.known = known;
    this.told = told;
    this.counters = counters;
    this.timeless = timeless;
    this.visible = new UnsafeRow(rows.visibleColumns());
    this.decoded = new UnsafeRow(rows.decodedColumns());
  }

  /** When a change became known, 0 where that is not asked for, and from when it is valid. */
  private record Moment(long known, long valid) implements Comparable<Moment> {
    @Override
    public int compareTo(Moment other) {
      int byKnown = Long.compare(known, other.known);
      return byKnown != 0 ? byKnown : Long.compare(valid, other.valid);
    }
  }

  /**
   * Puts changes in the order of their log. Those that stand nowhere in it, as of a frame, are in
   * that in which they became known; of one moment in that of their positions. Where these do not
   * tell the later of two that differ, all of the moment are dead letters.
   */
  List<RawChange> inOrder(List<RawChange> changes, long timestamp, Outbox outbox) {
    Collections.sort(changes);
    int placeless = 0;
    while (placeless < changes.size() && isPlaceless(changes.get(placeless))) {
      placeless++;
    }
    if (placeless < 2) {
      return changes;
    }
    List<RawChange> sound = new ArrayList<>(changes.size());
    Map<Moment, List<RawChange>> byMoment = new TreeMap<>();
    for (RawChange each : changes.subList(0, placeless)) {
      Moment moment = momentOf(each);
      List<RawChange> alike =
          moment == null ? sound : byMoment.computeIfAbsent(moment, told -> new ArrayList<>(1));
      alike.add(each);
    }
    for (List<RawChange> alike : byMoment.values()) {
      if (putInOrder(alike)) {
        sound.addAll(alike);
      } else {
        rows.refuse(alike, timestamp, outbox);
      }
    }
    sound.addAll(changes.subList(placeless, changes.size()));
    return sound;
  }

  /** Sorts changes of one moment by their positions; false where the order of two is not known. */
  private static boolean putInOrder(List<RawChange> alike) {
    boolean positioned = alike.stream().allMatch(RawChange::positioned);
    if (positioned) {
      alike.sort(Comparator.comparingLong(RawChange::position));
    }
    for (int i = 1; i < alike.size(); i++) {
      RawChange one = alike.get(i - 1);
      RawChange next = alike.get(i);
      boolean ordered = positioned && one.position() != next.position();
      if (!ordered && one.isTorn(next)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isPlaceless(RawChange change) {
    return change.isOrderless() && !change.isErasure();
  }

  /** The time from which a change is valid; null where it tells none, which is counted. */
  Long timeOf(RawChange change) {
    Moment moment = momentOf(change);
    if (moment != null) {
      return moment.valid();
    }
    if (change.op() == Message.OP_UPSERT) {
      timeless.run();
    } else {
      count(change, "ignored_deletes");
    }
    return null;
  }

  /** When a change became known that tells its time. */
  long knownOf(RawChange change) {
    return momentOf(change).known();
  }

  /** Null where a change does not tell it. */
  private Moment momentOf(RawChange change) {
    if (change.op() != Message.OP_UPSERT && !tellsTime(change)) {
      return null;
    }
    BinaryRow.point(visible, rows.derived(change.row()));
    if (visible.isNullAt(validFrom) || (known >= 0 && visible.isNullAt(known))) {
      return null;
    }
    return new Moment(known < 0 ? 0 : visible.getLong(known), visible.getLong(validFrom));
  }

  private boolean tellsTime(RawChange change) {
    if (change.op() == Message.OP_TOMBSTONE || told.length == 0) {
      return false;
    }
    BinaryRow.point(decoded, change.row());
    return Arrays.stream(told).noneMatch(decoded::isNullAt);
  }

  /** Applies a change to the version of a time; returns whether it stands now. */
  boolean apply(ByTime versions, long time, RawChange change, long timestamp) {
    RowCell cell = versions.cell(time);
    switch (standing(cell, change)) {
      case REPEAT -> {
        count(change, "repeated");
        return false;
      }
      case STALE -> {
        count(change, "stale");
        return false;
      }
      case NEWER -> {}
    }
    RowCell stored = cell.known ? cell : versions.cellBelow(time);
    Slice before = stored.exists ? stored.row : null;
    cell.advance(change);
    cell.exists = change.op() == Message.OP_UPSERT;
    cell.row = cell.exists ? rows.merged(before, change) : Slice.EMPTY;
    cell.deletedAt = timestamp;
    if (cell.exists && change.isPrimary()) {
      rows.view(cell.row); // Counts what fails in it.
    }
    versions.put(time, Slice.of(cell.toBytes()));
    return true;
  }

  /** Of changes that stand nowhere in a batch each is newer than those before it. */
  private static RowCell.Standing standing(RowCell cell, RawChange change) {
    RowCell.Standing standing = cell.standing(change);
    boolean repeats = standing == RowCell.Standing.REPEAT && isPlaceless(change);
    return repeats ? RowCell.Standing.NEWER : standing;
  }

  /** Erases a subject from all versions; {@code altered} hears of each before it is another. */
  boolean erase(ByTime versions, RawChange change, Consumer<Long> altered) {
    boolean erased = false;
    for (long time : versions.times()) {
      RowCell cell = versions.cell(time);
      if (rows.erase(cell, change)) {
        altered.accept(time);
        versions.put(time, Slice.of(cell.toBytes()));
        erased = true;
      }
    }
    return erased;
  }

  private void count(RawChange change, String counter) {
    if (change.isPrimary()) {
      counters.relation(rows.name(), counter, 1);
    }
  }
}
