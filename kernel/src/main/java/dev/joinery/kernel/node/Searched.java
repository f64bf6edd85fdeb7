package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.LinkedHashMap;
import java.util.Map;

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
