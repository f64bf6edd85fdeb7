package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * How much state each node of a program keeps: values, pages, and the bytes of both with the
 * addresses under which they stand, as they are before they are compressed.
 *
 * <p>What levels note for themselves is apart: what is to be forgotten when, and the program's mark.
 */
public final class StateSizes {
  private final long[][] counts;

  /** {@code nodes} is how many the program has. */
  public StateSizes(int nodes) {
    counts = new long[nodes + 1][3];
  }

  /** Counts what stands under an address: the first time with it, then each part behind that. */
  void add(byte[] address, boolean first, UnsafeRow part) {
    int owner = Address.ownerOf(address);
    long[] count = counts[owner < 0 ? counts.length - 1 : owner];
    if (first) {
      count[Address.isPage(address) ? 1 : 0]++;
      count[2] += address.length;
    }
    count[2] += (int) part.getLong(0); // Of a binary column the lower half is its length.
  }

  /** Values, pages and bytes by node; in the end those of the levels. */
  public long[][] counts() {
    return counts;
  }
}
