package dev.joinery.kernel.bytes;

/** Where a node's state stands and messages go: a hash, the node, its key; remembers nothing. */
public final class Address {
  /** The address of what leaves the chain; it is not a node's. */
  public static final int OUTPUT = 0;

  /** The number under which a level's own notes stand; no program has that many nodes. */
  public static final int EXPIRY = Integer.MAX_VALUE - 1;

  /**
   * The number under which a level's notes about the windows of a relation stand, less the place of
   * the relation.
   */
  public static final int WINDOWS = EXPIRY - 1;

  /** The number under which a level's notes of deadlines stand, less that of who tells them. */
  public static final int DEADLINES = 1 << 29;

  /** More nodes than a program has, and fewer than any number of notes. */
  private static final int NODES = 1 << 24;

  /** How many bytes there are before those of a page's own: the hash, and the output's number. */
  private static final int PAGE = 5;

  private static final byte[] FILL = new byte[3];

  private Address() {}

  /**
   * A node's address: a hash, so that sorting by the first bytes tells addresses apart, then the
   * node (from 1, 0 being the output) and the key.
   */
  public static byte[] of(int node, byte[] key) {
    ByteWriter out = new ByteWriter(key.length + 8);
    out.writeInt(Hash.of(key, 0, key.length) + node * 0x9E3779B9);
    return out.writeVarInt(node + 1).writeRaw(key).toBytes();
  }

  /**
   * Where a page of an address's state stands: under the number of the output, which has no state,
   * in whatever partition the address is. It is filled up in front to whole words, and its last
   * word gives it the partition.
   */
  public static byte[] ofPage(byte[] address, int page) {
    ByteWriter out = new ByteWriter(address.length + 16);
    out.writeRaw(address, 0, 4).writeVarInt(OUTPUT);
    int fill = -(address.length + 2 + bytesOf(page)) & 3;
    out.writeByte(fill).writeRaw(FILL, 0, fill).writeVarInt(page);
    out.writeRaw(address, 4, address.length - 4).writeInt(0);
    byte[] place = out.toBytes();
    PartitionHash.end(place, PartitionHash.of(address));
    return place;
  }

  private static int bytesOf(int varInt) {
    return 1 + (31 - Integer.numberOfLeadingZeros(varInt | 1)) / 7;
  }

  /** Whether a level's own notes stand under an address. */
  public static boolean isOfNotes(byte[] address) {
    return nodeOf(address) > NODES;
  }

  /** What Spark gives to a partition, of whatever number of partitions above it. */
  public static byte[] inPartition(int partition) {
    byte[] place = new byte[Integer.BYTES];
    PartitionHash.end(place, partition);
    return place;
  }

  /**
   * An address of a node in one of so many partitions, where all tasks of its level are to be told
   * something; no state stands there.
   */
  public static byte[] ofPartition(int node, int partition, int partitions) {
    ByteWriter out = new ByteWriter(20).writeInt(0).writeVarInt(node + 1).writeVarInt(partitions);
    int fill = -out.size() & 3;
    byte[] place = out.writeRaw(FILL, 0, fill).writeInt(0).toBytes();
    PartitionHash.end(place, partition);
    return place;
  }

  /** Of how many partitions {@link #ofPartition} gave an address. */
  public static int partitionsOf(byte[] address) {
    ByteReader in = new ByteReader(address, 4, address.length - 4);
    in.readVarInt();
    return in.readVarInt();
  }

  /** The partition, of so many, to which Spark gives an address. */
  public static int partitionOf(byte[] address, int partitions) {
    return Math.floorMod(PartitionHash.of(address), partitions);
  }

  /** The node an address names; -1 for the output. */
  public static int nodeOf(byte[] address) {
    return new ByteReader(address, 4, address.length - 4).readVarInt() - 1;
  }

  /** Whether a page stands under an address. */
  public static boolean isPage(byte[] address) {
    return nodeOf(address) < 0 && address.length > PAGE;
  }

  /** The node to whose state what stands under an address belongs; -1 where it is a level's own. */
  public static int ownerOf(byte[] address) {
    if (!isPage(address)) {
      return isOfNotes(address) ? -1 : nodeOf(address);
    }
    int fill = address[PAGE];
    int page = PAGE + 1 + fill;
    ByteReader in = new ByteReader(address, page, address.length - page);
    in.readVarInt();
    return in.readVarInt() - 1;
  }

  public static Slice keyOf(byte[] address) {
    ByteReader in = new ByteReader(address, 4, address.length - 4);
    in.readVarInt();
    return in.rest();
  }

  /** Where a parent waits that points at nothing. No child's key begins like this. */
  public static byte[] keyOfNull(byte[] parentKey) {
    return new ByteWriter(parentKey.length + 1).writeByte(0).writeRaw(parentKey).toBytes();
  }
}
