package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.ChangeLetter;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.CompiledAssembler;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;

/**
 * Applies the changes of one relation to cells, and shows the rows that products see.
 *
 * <p>Invariant: a cell's content depends on the set of changes it was given and their places in the
 * log, not on how they were cut into batches.
 */
public final class RelationRows {
  private static final String AMBIGUOUS =
      "several changes of one key in a batch, and no positions that tell which is newer";

  private final Program.RelationProgram relation;
  private final Assembler view;
  private final long retentionMicros;
  private final Counters counters;
  private final DataType[] types;
  private UnsafeProjection merge;
  private final KeyCodec key;
  private final UnsafeRow decoded;
  private final int visibleColumns;
  private final Erasure erasure;
  /** The very row that {@link #view} holds; bytes may be another's later, a row's never are. */
  private Slice assembled;

  private boolean exists;

  /** Hears of each change that is newer than what stands, in log order. */
  interface Hearing {
    Hearing NONE =
        new Hearing() {
          @Override
          public boolean isForgotten(RowCell cell, RawChange change) {
            return false;
          }

          @Override
          public boolean takes(RawChange change, Slice row, RowCell cell) {
            return true;
          }

          @Override
          public void beginsAnew(RowCell cell, RawChange change) {}

          @Override
          public void applied(RowCell cell) {}
        };

    /** Whether a row is forgotten to a change, which then is one of another under its key. */
    boolean isForgotten(RowCell cell, RawChange change);

    /**
     * Whether a change counts; else it is as if not in the log.
     *
     * @param row as it would be after the change, null after a delete
     */
    boolean takes(RawChange change, Slice row, RowCell cell);

    /** Before a change that counts, while the cell has the row that is forgotten to it. */
    void beginsAnew(RowCell cell, RawChange change);

    /** After a change that counts. */
    void applied(RowCell cell);
  }

  RelationRows(
      Program.RelationProgram relation,
      CompiledAssembler view,
      long retentionMicros,
      Counters counters) {
    this.relation = relation;
    this.view = new Assembler(view);
    this.visibleColumns = view.output.size();
    this.retentionMicros = retentionMicros;
    this.counters = counters;
    this.types =
        relation.columns().stream().map(Program.Slot::type).toArray(DataType[]::new);
    this.key = keyOf(relation);
    this.decoded = new UnsafeRow(types.length);
    this.erasure = relation.sealed() == null ? null : new Erasure(relation);
  }

  public static KeyCodec keyOf(Program.RelationProgram relation) {
    List<KeyCodec.Column> columns = new ArrayList<>();
    for (int ordinal : relation.key()) {
      DataType type = relation.columns().get(ordinal).type();
      columns.add(new KeyCodec.Column(ordinal, type, type, false));
    }
    return new KeyCodec(columns);
  }

  public String name() {
    return relation.name();
  }

  public int visibleColumns() {
    return visibleColumns;
  }

  int decodedColumns() {
    return types.length;
  }

  public byte[] keyOf(RawChange change) {
    return keyOf(change.row());
  }

  /** The key of a row as decoded. */
  byte[] keyOf(Slice row) {
    return key.encode(BinaryRow.point(decoded, row));
  }

  /** The row that products see, or null where there is none. */
  public Slice view(RowCell cell) {
    return cell.exists && assemble(cell.row) ? view.row() : null;
  }

  /** The same for a row that was decoded, which counts where an expression fails. */
  public Slice view(Slice row) {
    boolean exists = assemble(row);
    counters.relationFailures(relation.name(), 0, view.failures());
    return exists ? view.row() : null;
  }

  /** Once for each row: its time is asked for before it is grouped. */
  private boolean assemble(Slice row) {
    if (row != assembled) {
      assembled = null; // Not its own, where an expression throws.
      exists = view.assemble(row, BinaryRow.of(row, types.length), Assembler.NO_INPUTS);
      assembled = row;
    }
    return exists;
  }

  private int failures(Slice row) {
    if (row == null) {
      return 0;
    }
    assemble(row);
    return view.failures();
  }

  /** A row with its derived columns, whether or not products see it. */
  public Slice derived(Slice row) {
    assemble(row);
    return view.row();
  }

  /** The row after an upsert: what the change leaves out is as in {@code stored}, if there is one. */
  public Slice merged(Slice stored, RawChange change) {
    return change.absent() == null || stored == null ? change.row() : filled(stored, change);
  }

  /** Has a deleted row looked at again once its retention is over; {@code entry} says where. */
  public void expireLater(RowCell cell, Slice entry, State state) {
    state.expireAfter(cell.deletedAt + retentionMicros, entry);
  }

  /** True where nothing has to be known of a row any more; one deleted later is looked at again. */
  public boolean isOver(RowCell cell, long timestamp, Slice entry, State state) {
    if (cell.exists) {
      return false;
    }
    cell.expire(timestamp, retentionMicros);
    if (cell.known) {
      expireLater(cell, entry, state);
    }
    return !cell.known;
  }

  long retentionMicros() {
    return retentionMicros;
  }

  /**
   * Applies changes of one key in log order; true when the cell must be written again. The list is
   * sorted in place.
   */
  public boolean apply(RowCell cell, List<RawChange> changes, long timestamp, Outbox outbox) {
    return apply(cell, changes, Hearing.NONE, timestamp, outbox);
  }

  /** The same, telling each. */
  boolean apply(
      RowCell cell, List<RawChange> changes, Hearing hearing, long timestamp, Outbox outbox) {
    cell.expire(timestamp, retentionMicros);
    if (changes.size() > 1) {
      Collections.sort(changes);
      if (isAmbiguous(changes)) {
        refuse(changes, timestamp, outbox);
        return false;
      }
    }
    Slice before = cell.exists ? cell.row : null;
    long began = cell.began;
    boolean touched = false;
    for (RawChange change : changes) {
      touched |= applyOne(cell, change, hearing, timestamp);
    }
    Slice after = cell.exists ? cell.row : null;
    if (began != cell.began || (before == null ? after != null : !before.equals(after))) {
      cell.epoch = Math.max(timestamp, cell.epoch + 1);
      if (changes.get(0).isPrimary()) {
        countFailures(before, after);
      }
    }
    return touched;
  }

  private void countFailures(Slice before, Slice after) {
    int failures = failures(after);
    if (failures > 0) {
      counters.relationFailures(relation.name(), failures(before), failures);
    }
  }

  /** True where the order of sorted changes is not known: places are missing, or not distinct. */
  private static boolean isAmbiguous(List<RawChange> changes) {
    for (int i = 1; i < changes.size(); i++) {
      RawChange one = changes.get(i - 1);
      RawChange next = changes.get(i);
      if (one.isOrderless() || one.isTorn(next)) {
        return true;
      }
    }
    return false;
  }

  /** Tells as dead letters changes of which it is not known which is newer. */
  void refuse(List<RawChange> changes, long timestamp, Outbox outbox) {
    ChangeLetter letters = new ChangeLetter(relation);
    for (RawChange change : changes) {
      count(change, "dead");
      if (change.isPrimary()) {
        boolean delete = change.op() != Message.OP_UPSERT;
        outbox.emit(letters.of("ambiguous_order", AMBIGUOUS, change.row(), delete, timestamp));
      }
    }
  }

  private boolean applyOne(RowCell cell, RawChange change, Hearing hearing, long timestamp) {
    if (change.isErasure()) {
      return erase(cell, change);
    }
    boolean forgotten = hearing.isForgotten(cell, change);
    RowCell known = forgotten ? RowCell.read(null) : cell;
    boolean afterDelete = known.afterDelete;
    boolean delete = change.op() == Message.OP_DELETE;
    RowCell.Standing standing = known.standing(change);
    if (standing == RowCell.Standing.REPEAT) {
      count(change, "repeated");
      return false;
    }
    if (change.op() == Message.OP_TOMBSTONE && afterDelete) {
      cell.afterDelete = false;
      count(change, "tombstones");
      return true;
    }
    if (standing == RowCell.Standing.STALE) {
      cell.afterDelete = delete;
      count(change, "stale");
      return cell.afterDelete != afterDelete;
    }
    boolean upsert = change.op() == Message.OP_UPSERT;
    Slice row = upsert ? merged(known.exists ? known.row : null, change) : null;
    if (!hearing.takes(change, row, known)) {
      return false;
    }
    if (forgotten) {
      hearing.beginsAnew(cell, change);
      cell.beginAnew(timestamp);
    }
    cell.afterDelete = delete;
    cell.advance(change);
    cell.exists = upsert;
    cell.row = upsert ? row : Slice.EMPTY;
    cell.deletedAt = upsert ? cell.deletedAt : timestamp;
    hearing.applied(cell);
    return true;
  }

  /** What tells a row from another, also where both are of erased subjects. */
  Slice unmarked(Slice row) {
    return erasure == null || row.length() == 0 ? row : erasure.unmarked(row);
  }

  /** Marks what was sealed for an erased subject; a row that is not there stays so. */
  boolean erase(RowCell cell, RawChange change) {
    if (!cell.exists || erasure == null) {
      return false;
    }
    Slice erased = erasure.erased(cell.row, change.row());
    if (erased == null) {
      return false;
    }
    count(change, "erased");
    cell.row = erased;
    return true;
  }

  private void count(RawChange change, String counter) {
    if (change.isPrimary()) {
      counters.relation(relation.name(), counter, 1);
    }
  }

  private Slice filled(Slice bytes, RawChange change) {
    UnsafeRow stored = BinaryRow.of(bytes, types.length);
    UnsafeRow given = BinaryRow.of(change.row(), types.length);
    GenericInternalRow merged = new GenericInternalRow(types.length);
    for (int i = 0; i < types.length; i++) {
      UnsafeRow from = change.isAbsent(i) ? stored : given;
      merged.update(i, from.isNullAt(i) ? null : from.get(i, types[i]));
    }
    if (merge == null) {
      merge = UnsafeProjection.create(types);
    }
    return BinaryRow.copy(merge.apply(merged));
  }
}
