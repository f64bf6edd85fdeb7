package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Hash;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SearchProgram;
import dev.joinery.kernel.search.QuerySet;
import dev.joinery.kernel.search.StoredQueries;
import dev.joinery.kernel.search.StoredQuery;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.State;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The queries of a {@link Search}, of which each bucket keeps all: remembers their rows and the
 * fingerprint of these, by which it finds the set that all buckets of a worker share.
 */
final class KeptQueries {
  private static final int ROWS = 0;

  private final SearchProgram program;
  private final StoredQueries stored;
  private final StoredQueries.Recent seen = new StoredQueries.Recent();
  private final UnsafeRow kept;
  private final KeyCodec on;

  KeptQueries(int node, SearchProgram program, NodeContext context) {
    Program whole = context.program();
    List<Program.Slot> columns =
        NodeContext.slotsOf(whole.assemblers().get(program.stored()).type());
    this.program = program;
    this.stored = context.searches().of(node, program, whole);
    this.kept = new UnsafeRow(columns.size());
    this.on = program.queryOn().codec(columns);
  }

  /** A query as it is kept, not read yet; null where it went. */
  private StoredQueries.Source source(Slice key, Slice row) {
    if (row == null) {
      return null;
    }
    BinaryRow.point(kept, row);
    boolean none = kept.isNullAt(program.text());
    Slice join = on.anyNull(kept) ? null : Slice.of(on.encode(kept));
    String text = none ? null : kept.getUTF8String(program.text()).toString();
    return new StoredQueries.Source(key, row, join, text);
  }

  private static long printOf(Slice key, Slice row) {
    if (row == null) {
      return 0;
    }
    ByteWriter out = new ByteWriter(key.length() + row.length() + 8).writeBlob(key).writeRaw(row);
    return Hash.longOf(out.array(), 0, out.size());
  }

  /** Writes the head of a map, which {@code EntryMap.read} takes as a blob. */
  static void writeMap(EntryMap map, ByteWriter out) {
    ByteWriter head = new ByteWriter(256);
    map.write(head);
    out.writeBlob(Slice.of(head.toBytes()));
  }

  /** The queries of one bucket while a batch is worked on. */
  final class At {
    private final EntryMap rows;

    /** The fingerprint of the queries before the batch. */
    private final long before;

    private long fingerprint;
    private QuerySet all;

    /** Queries of which what is kept has changed. */
    private final Set<Slice> moved = new HashSet<>();

    /** {@code in} stands where {@link #write} began; null for none. */
    At(ByteReader in, State state) {
      fingerprint = in == null ? 0 : in.readLong();
      before = fingerprint;
      rows = EntryMap.read(in == null ? null : new ByteReader(in.readBlob()), state, ROWS);
    }

    void write(ByteWriter out) {
      out.writeLong(fingerprint);
      writeMap(rows, out);
    }

    /**
     * Takes the rows that changed, null for one that went, and finds the set after the batch.
     *
     * @return their keys, in the order of their pages
     */
    Set<Slice> take(Map<Slice, Slice> changes) {
      Map<Slice, StoredQueries.Source> sources = new LinkedHashMap<>();
      for (Slice key : rows.inPageOrder(changes.keySet(), each -> each)) {
        put(key, changes.get(key));
        sources.put(key, source(key, changes.get(key)));
      }
      all = stored.after(before, fingerprint, sources, this::sources, seen);
      return sources.keySet();
    }

    private void put(Slice key, Slice row) {
      Slice old = rows.get(key);
      if (row == null ? old == null : row.equals(old)) {
        return;
      }
      moved.add(key);
      fingerprint += printOf(key, row) - printOf(key, old);
      if (row != null) {
        rows.put(key, row);
      } else {
        rows.remove(key);
      }
    }

    private Iterator<StoredQueries.Source> sources() {
      return new Mapped<>(
          rows.iterator(), each -> source(each.key().detach(), each.value().detach()));
    }

    Slice row(Slice key) {
      return rows.get(key);
    }

    /** The set after the batch; null before {@link #take}. */
    QuerySet all() {
      return all;
    }

    Set<Slice> moved() {
      return moved;
    }

    /** The set of those alone that changed and are still there. */
    QuerySet changed() {
      Map<Slice, StoredQuery> few = new HashMap<>();
      moved.forEach(each -> few.put(each, all.get(each)));
      few.values().removeIf(each -> each == null);
      return stored.changed(before, fingerprint, few);
    }
  }
}
