package dev.joinery.kernel.program;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

class BucketsTest {
  @Test
  void fewBucketsAreSharedEvenlyByAnyUsualNumberOfPartitions() {
    for (int partitions : new int[] {2, 3, 4, 6, 8, 12, 16, 32}) {
      int[] shares = new int[partitions];
      for (byte[] key : Buckets.of(3, 32).keys()) {
        shares[Address.partitionOf(Address.of(3, key), partitions)]++;
      }

      int most = Arrays.stream(shares).max().orElseThrow();
      assertEquals((32 + partitions - 1) / partitions, most, partitions + " partitions");
    }
  }

  @Test
  void thePartitionIsTheOneThatSparkChooses() {
    Expression column = new BoundReference(0, DataTypes.BinaryType, false);
    Expression chosen =
        new HashPartitioning(CollectionConverters.asScala(java.util.List.of(column)).toSeq(), 16)
            .partitionIdExpression();
    UnsafeProjection spark =
        UnsafeProjection.create(
            CollectionConverters.asScala(java.util.List.of(chosen)).toSeq());

    for (byte[] key : Buckets.of(3, 32).keys()) {
      byte[] address = Address.of(3, key);
      int partition = spark.apply(new GenericInternalRow(new Object[] {address})).getInt(0);
      assertEquals(partition, Address.partitionOf(address, 16));
    }
  }

  @Test
  void keysFallIntoAllBuckets() {
    Buckets buckets = Buckets.of(0, 32);

    long met =
        IntStream.range(0, 1_000)
            .mapToObj(each -> Slice.of(buckets.of(new ByteWriter().writeInt(each).toBytes())))
            .distinct()
            .count();

    assertEquals(32, met);
    assertTrue(Buckets.NONE.areNone());
  }
}
