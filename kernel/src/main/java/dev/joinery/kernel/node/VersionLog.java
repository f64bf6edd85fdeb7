package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.RawChange;
import java.util.Arrays;
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

  /** The time from which a change is valid; null where it tells none, which is counted. */
  Long timeOf(RawChange change) {
    boolean upsert = change.op() == Message.OP_UPSERT;
    if (!upsert && !tellsTime(change)) {
      count(change, "ignored_deletes");
      return null;
    }
    BinaryRow.point(visible, rows.derived(change.row()));
    if (!visible.isNullAt(validFrom) && (known < 0 || !visible.isNullAt(known))) {
      return visible.getLong(validFrom);
    }
    if (upsert) {
      timeless.run();
    } else {
      count(change, "ignored_deletes");
    }
    return null;
  }

  /** When a change became known that tells its time. */
  long knownOf(RawChange change) {
    BinaryRow.point(visible, rows.derived(change.row()));
    return visible.getLong(known);
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
    switch (cell.standing(change)) {
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
