package dev.joinery.kernel.door;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.spark.LocalSpark;
import java.lang.management.MemoryUsage;
import org.apache.spark.SparkContext;
import org.junit.jupiter.api.Test;

class SpareMemoryTest {
  private static final long MIB = 1 << 20;

  private static boolean isMuch(long usedMib, long collectedMib) {
    return SpareMemory.isMuch(used(usedMib), used(collectedMib));
  }

  private static MemoryUsage used(long mib) {
    return new MemoryUsage(0, mib * MIB, 2048 * MIB, 2048 * MIB);
  }

  @Test
  void whatGrewByHalfSinceTheLastCollectionIsMuch() {
    assertTrue(isMuch(300, 200));
    assertFalse(isMuch(299, 200));
  }

  @Test
  void littleIsNotWorthAPause() {
    assertTrue(isMuch(48, 0));
    assertFalse(isMuch(47, 0));
  }

  @Test
  void beforeTheFirstCollectionAllOfItMayBeGarbage() {
    assertTrue(SpareMemory.isMuch(used(100), null));
  }

  @Test
  void realTimeEndsIt() {
    SparkContext context = LocalSpark.SESSION.sparkContext();
    context.addSparkListener(new SpareMemory());
    assertTrue(listens(context));

    SpareMemory.keep(context);
    assertFalse(listens(context));
  }

  private static boolean listens(SparkContext context) {
    return context.listenerBus().listeners().stream().anyMatch(SpareMemory.class::isInstance);
  }
}
