package dev.joinery.kernel.bytes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

/** What belongs to an address is in its partition. */
class PartitionHashTest {
  private final Random random = new Random(5);

  @Test
  void theHashIsTheOneThatSparkPartitionsBy() {
    for (int size = 0; size < 40; size++) {
      assertEquals(bySpark(bytes(size)), PartitionHash.of(bytes(size, size)));
    }
  }

  @Test
  void eachPageOfAnAddressIsInItsPartitionUnderAnAddressOfItsOwn() {
    Set<Slice> places = new HashSet<>();
    for (int key = 0; key < 200; key++) {
      byte[] address = Address.of(key % 300, bytes(key % 23, key));
      for (int page : new int[] {0, 1, 127, 128, 16_384, 1 << 28, 3 << 28 | 70_000}) {
        byte[] place = Address.ofPage(address, page);

        assertEquals(PartitionHash.of(address), PartitionHash.of(place));
        assertEquals(-1, Address.nodeOf(place));
        assertEquals(key % 300, Address.ownerOf(place));
        assertTrue(Address.isPage(place));
        assertTrue(places.add(Slice.of(place)), "a place of its own");
      }
    }
  }

  @Test
  void bytesCanBeHadForAnyPartition() {
    for (int partition : new int[] {0, 1, 7, 511}) {
      assertEquals(partition, PartitionHash.of(Address.inPartition(partition)));
    }
  }

  @Test
  void aNodeHasAnAddressInEachPartition() {
    for (int node : new int[] {0, 126, 127, 1 << 14, 1 << 21}) {
      for (int partition : new int[] {0, 1, 7, 511}) {
        byte[] address = Address.ofPartition(node, partition, 512);

        assertEquals(partition, PartitionHash.of(address));
        assertEquals(node, Address.nodeOf(address));
        assertEquals(512, Address.partitionsOf(address));
      }
    }
  }

  private int bySpark(byte[] bytes) {
    List<Expression> columns = List.of(Literal.create(bytes, DataTypes.BinaryType));
    return (int) new Murmur3Hash(CollectionConverters.asScala(columns).toSeq()).eval(null);
  }

  private byte[] bytes(int size) {
    return bytes(size, size);
  }

  private byte[] bytes(int size, int seed) {
    random.setSeed(seed);
    byte[] bytes = new byte[size];
    random.nextBytes(bytes);
    return bytes;
  }
}
