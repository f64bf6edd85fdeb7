package dev.joinery.kernel;

/** A share of a table's keys that stands under one address, so that it can be told of time. */
final class Bucket {
  private Bucket() {}

  /** The bucket's own key, for the code of a table's key. */
  static byte[] of(byte[] code, int buckets) {
    return key(Math.floorMod(Hash.of(code, 0, code.length), buckets));
  }

  static byte[] key(int bucket) {
    return new ByteWriter(4).writeInt(bucket).toBytes();
  }
}
