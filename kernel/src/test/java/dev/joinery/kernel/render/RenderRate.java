package dev.joinery.kernel.render;

import java.lang.management.ManagementFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Prints how many documents a second one core writes; run by hand. */
final class RenderRate {
  private static final StructType TYPE =
      StructType.fromDDL(
          "email string, username string, starred_repos array<struct<repo: string, description:"
              + " string>>, pull_requests array<struct<repo: string, index: bigint, title: string,"
              + " created_at: timestamp, status: string>>, payment_verified boolean");

  private RenderRate() {}

  private static InternalRow document(int children) {
    Object[] stars = new Object[children];
    Object[] pulls = new Object[children];
    for (int i = 0; i < children; i++) {
      stars[i] = row(text("repo-" + i), text("A repository about things, number " + i));
      pulls[i] =
          row(text("repo-" + i), (long) i, text("Fix it"), 1767323045123456L + i, text("open"));
    }
    GenericInternalRow document =
        row(
            text("someone@example.org"),
            text("someone"),
            new GenericArrayData(stars),
            new GenericArrayData(pulls),
            true);
    return UnsafeProjection.create(TYPE).apply(document).copy();
  }

  private static GenericInternalRow row(Object... values) {
    return new GenericInternalRow(values);
  }

  private static UTF8String text(String value) {
    return UTF8String.fromString(value);
  }

  public static void main(String[] arguments) {
    InternalRow document = document(5);
    JsonWriter writer = new JsonWriter(TYPE);
    ByteSink out = new ByteSink(4096);
    int documents = 200_000;
    for (int round = 0; round < 8; round++) {
      long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
      for (int i = 0; i < documents; i++) {
        out.clear();
        writer.write(document, out);
      }
      double seconds =
          (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start) / 1e9;
      System.out.printf(
          "%,.0f documents/s, %,.0f MB/s (%d bytes each)%n",
          documents / seconds, 1e-6 * documents * out.size() / seconds, out.size());
    }
  }
}
