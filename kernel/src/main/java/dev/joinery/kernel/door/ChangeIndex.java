package dev.joinery.kernel.door;

import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.format.Format;
import java.util.Arrays;

/**
 * What is remembered of the changes that records of one part of a log tell: of which record each
 * is, its position, and a hash of each column by which changes are sought; some forty bytes.
 *
 * <p>Invariant: it holds each change that a full decoding tells. It may hold more: a record is
 * refused here only by what is read of it.
 */
final class ChangeIndex implements ChangeSink {
  /** Stands for no position. */
  static final long UNPLACED = Long.MIN_VALUE;

  /** The changes of one relation, in the order of the part. */
  static final class OfRelation {
    final SoughtColumns columns;
    final Longs positions = new Longs();

    /** A hash a column, of one change after the other. */
    final Longs hashes = new Longs();

    /** The record of each, and behind it which of the record's changes it is. */
    final Longs records = new Longs();

    OfRelation(SoughtColumns columns) {
      this.columns = columns;
    }

    int size() {
      return records.size();
    }

    int record(int change) {
      return (int) (records.get(change) >> 1);
    }

    /** A record that changes a row's key tells two changes. */
    int ordinal(int change) {
      return (int) (records.get(change) & 1);
    }

    private void cut(int size) {
      records.cut(size);
      positions.cut(size);
      hashes.cut(size * columns.size());
    }
  }

  final OfRelation[] relations;

  /** How often a record told nothing of a relation, since it is a dead letter. */
  int dead;

  /** By relation, how many updates and deletes were ignored, since it takes inserts only. */
  final long[] ignored;

  private boolean insertsOnly;
  private boolean whole;
  private boolean refused;
  private int begun;
  private long record;

  ChangeIndex(SoughtColumns[] columns) {
    relations = Arrays.stream(columns).map(OfRelation::new).toArray(OfRelation[]::new);
    ignored = new long[columns.length];
  }

  /**
   * Takes what a record tells of a relation.
   *
   * @param narrow decodes only what is sought
   * @param full decodes all; asked where {@code narrow} refuses the record, since a row without any
   *     known column is taken for one of another format
   */
  void take(int relation, int number, Format narrow, Format full, byte[] key, byte[] value) {
    begun = relations[relation].size();
    insertsOnly = relations[relation].columns.insertsOnly;
    record = number;
    if (!decode(relation, narrow, false, key, value)
        && !decode(relation, full, true, key, value)) {
      dead++;
    }
  }

  private boolean decode(int relation, Format format, boolean all, byte[] key, byte[] value) {
    long ignoredBefore = ignored[relation];
    whole = all;
    refused = false;
    try {
      format.decode(relation, key, value, this);
    } catch (RuntimeException | StackOverflowError poison) {
      refused = true;
    }
    if (refused) {
      ignored[relation] = ignoredBefore;
      relations[relation].cut(begun);
    }
    return !refused;
  }

  @Override
  public void change(
      int relation,
      int op,
      boolean positioned,
      long position,
      byte[] row,
      int rowLength,
      long[] absent) {
    if (op != UPSERT && insertsOnly) {
      ignored[relation]++;
      return;
    }
    OfRelation of = relations[relation];
    of.records.add(record << 1 | (of.size() - begun));
    of.positions.add(positioned ? position : UNPLACED);
    of.columns.hash(row, whole, of.hashes);
  }

  @Override
  public boolean insertsOnly() {
    return insertsOnly;
  }

  @Override
  public void deadLetter(int relation, String reason, String detail) {
    refused = true;
  }

  @Override
  public void count(int relation, String counter) {
    if (counter.equals("ignored_updates")) {
      ignored[relation]++;
    }
  }

  /** Leaves out the changes of records from a number on. */
  void cut(int taken) {
    for (OfRelation each : relations) {
      int size = each.size();
      while (size > 0 && each.record(size - 1) >= taken) {
        size--;
      }
      each.cut(size);
    }
  }

  void trim() {
    for (OfRelation each : relations) {
      each.records.trim();
      each.positions.trim();
      each.hashes.trim();
    }
  }
}
