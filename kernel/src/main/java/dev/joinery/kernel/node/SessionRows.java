package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.Pages;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The rows of one key's sessions in the order of their times: remembers them, or where aggregates
 * can take a row back without the others, what those of one time add up to.
 */
final class SessionRows {
  private final OrderedMap byTime;
  private final boolean whole;
  private final Aggregates sums;
  private final UnsafeRow row;

  private SessionRows(OrderedMap byTime, boolean whole, Aggregates sums, UnsafeRow row) {
    this.byTime = byTime;
    this.whole = whole;
    this.sums = sums;
    this.row = row;
  }

  /**
   * Opens what {@link #write} left.
   *
   * @param in null where there is none
   * @param space numbers their pages
   * @param whole whether rows are kept, not what they add up to
   * @param sums the aggregates over them, to work with
   * @param row to read rows with
   */
  static SessionRows read(
      ByteReader in, Pages pages, int space, boolean whole, Aggregates sums, UnsafeRow row) {
    return new SessionRows(OrderedMap.read(in, pages, space), whole, sums, row);
  }

  void write(ByteWriter out) {
    byTime.write(out);
  }

  /** Adds what rows of a time that came and went add. */
  void add(long time, long rows, Slice added) {
    Slice key = TimeCode.of(time);
    Slice stored = byTime.get(key);
    sums.clear();
    long total = rows;
    if (stored != null) {
      ByteReader in = new ByteReader(stored);
      total += in.readVarLong();
      sums.read(in);
    }
    sums.merge(new ByteReader(added));
    if (total == 0) {
      byTime.remove(key);
      return;
    }
    if (total < 0) {
      throw new IllegalStateException("a time with " + total + " rows");
    }
    ByteWriter out = new ByteWriter(added.length() + 8).writeVarLong(total);
    sums.write(out);
    byTime.put(key, Slice.of(out.toBytes()));
  }

  void put(long time, Slice key, Slice added) {
    byTime.put(TimeCode.of(time, key), added);
  }

  /** Removes a row and gives it. */
  Slice remove(long time, Slice key) {
    Slice code = TimeCode.of(time, key);
    Slice gone = byTime.get(code);
    if (gone == null) {
      throw new IllegalStateException("a row left a session that it was not in");
    }
    byTime.remove(code);
    return gone;
  }

  boolean has(long time) {
    return at(time) == time;
  }

  /** The first time that has rows, from a time on; the greatest number where there is none. */
  long at(long time) {
    Iterator<EntryMap.Entry> all = byTime.from(TimeCode.of(time));
    return all.hasNext() ? TimeCode.of(all.next().key()) : Long.MAX_VALUE;
  }

  /** The last time below one that has rows; there must be one. */
  long before(long time) {
    return TimeCode.of(byTime.lastBelow(TimeCode.of(time)).key());
  }

  /** Adds all rows from one time to another to aggregates, and returns how many there are. */
  long addUp(long first, long last, Aggregates aggregates) {
    aggregates.clear();
    long rows = 0;
    Iterator<EntryMap.Entry> all = byTime.from(TimeCode.of(first));
    while (all.hasNext()) {
      EntryMap.Entry entry = all.next();
      if (TimeCode.of(entry.key()) > last) {
        break;
      }
      if (whole) {
        rows++;
        aggregates.add(BinaryRow.point(row, entry.value()));
      } else {
        ByteReader in = new ByteReader(entry.value());
        rows += in.readVarLong();
        aggregates.merge(in);
      }
    }
    return rows;
  }
}
