package dev.joinery.kernel.program;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Hash;
import java.io.Serializable;

/**
 * The addresses that the keys of a node are shared among, so that all of them can be told of time;
 * a node without any has an address for each key.
 *
 * <p>Few addresses fall into partitions unevenly by chance. So each is given a number behind it
 * with which Spark's hash of the address, divided by any usual number of partitions, leaves what
 * follows on the one before.
 */
public record Buckets(byte[][] keys) implements Serializable {
  public static final Buckets NONE = new Buckets(new byte[0][]);

  /** What most numbers of partitions divide. */
  private static final int EVENLY = 960;

  /** Above it chance is even enough. */
  private static final int FEW = 64;

  public static Buckets of(int node, int count) {
    byte[][] keys = new byte[count][];
    for (int bucket = 0; bucket < count; bucket++) {
      int number = 0;
      do {
        keys[bucket] = new ByteWriter(8).writeInt(bucket).writeInt(number++).toBytes();
      } while (count <= FEW && Address.partitionOf(Address.of(node, keys[bucket]), EVENLY) != bucket);
    }
    return new Buckets(keys);
  }

  /** The key of the address where a table's key or an event's identity stands. */
  public byte[] of(byte[] code) {
    return keys.length == 0
        ? code
        : keys[Math.floorMod(Hash.of(code, 0, code.length), keys.length)];
  }

  public boolean areNone() {
    return keys.length == 0;
  }
}
