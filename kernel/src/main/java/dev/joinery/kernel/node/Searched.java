package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * A document as its bucket keeps it: its row, or its cell, where new queries look back, and what it
 * matches.
 */
final class Searched {
  static final Searched NOTHING = new Searched(Slice.EMPTY, Map.of());

  final Slice kept;
  final Map<Slice, Hit> hits;

  Searched(Slice kept, Map<Slice, Hit> hits) {
    this.kept = kept;
    this.hits = hits;
  }

  static Searched read(Slice stored) {
    ByteReader in = new ByteReader(stored);
    Slice kept = in.readBlob();
    Map<Slice, Hit> hits = new LinkedHashMap<>();
    for (int left = in.readVarInt(); left > 0; left--) {
      hits.put(in.readBlob(), Hit.read(in));
    }
    return new Searched(kept, hits);
  }

  /** The row or cell of a document as it is kept, of which nothing else is read. */
  static Slice keptOf(Slice stored) {
    return new ByteReader(stored).readBlob();
  }

  /** Whether a document as it is kept matches one of some queries. */
  static boolean matches(Slice stored, Set<Slice> queries) {
    ByteReader in = new ByteReader(stored);
    in.readBlob();
    for (int left = in.readVarInt(); left > 0; left--) {
      if (queries.contains(in.readBlob())) {
        return true;
      }
      Hit.read(in);
    }
    return false;
  }

  Slice toBytes() {
    ByteWriter out = new ByteWriter(kept.length() + 16 * hits.size() + 8);
    out.writeBlob(kept).writeVarInt(hits.size());
    hits.forEach(
        (query, hit) -> {
          out.writeBlob(query);
          hit.write(out);
        });
    return Slice.of(out.toBytes());
  }
}
