package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** A document as its bucket keeps it: its row, where new queries look back, and what it matches. */
final class Searched {
  final Slice row;
  final Map<Slice, Hit> hits;

  Searched(Slice row, Map<Slice, Hit> hits) {
    this.row = row;
    this.hits = hits;
  }

  static Searched read(Slice stored) {
    ByteReader in = new ByteReader(stored);
    Slice row = in.readBlob();
    Map<Slice, Hit> hits = new LinkedHashMap<>();
    for (int left = in.readVarInt(); left > 0; left--) {
      hits.put(in.readBlob(), Hit.read(in));
    }
    return new Searched(row, hits);
  }

  /** The row of a document as it is kept, of which nothing else is read. */
  static Slice rowOf(Slice stored) {
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
    ByteWriter out = new ByteWriter(row.length() + 16 * hits.size() + 8);
    out.writeBlob(row).writeVarInt(hits.size());
    hits.forEach(
        (query, hit) -> {
          out.writeBlob(query);
          hit.write(out);
        });
    return Slice.of(out.toBytes());
  }
}
