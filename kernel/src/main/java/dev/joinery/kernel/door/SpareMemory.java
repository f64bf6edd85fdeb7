package dev.joinery.kernel.door;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.Arrays;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Gives memory back to the machine once a backlog is worked off, for a JVM that we started.
 *
 * <p>What large batches leave behind lies in the heap's old generation and in the arenas of malloc.
 * The JVM would collect it when the whole heap is full, and give none of it back.
 */
final class SpareMemory extends StreamingQueryListener {
  /** A longer batch works a backlog off, and a pause in it would be for nothing. */
  static final long SHORT_MS = 5_000;

  /** So many short batches in a row are no chance. */
  static final int IN_A_ROW = 3;

  private static final long LEAST_BYTES = 48 << 20;
  private static final String LEAST_FREE = "MinHeapFreeRatio";
  private static final String MOST_FREE = "MaxHeapFreeRatio";

  private final MemoryPoolMXBean old = oldGeneration();
  private int row;

  @Override
  public void onQueryStarted(QueryStartedEvent event) {}

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    row = event.progress().batchDuration() < SHORT_MS ? row + 1 : 0;
    if (row >= IN_A_ROW && old != null && isMuch(old.getUsage(), old.getCollectionUsage())) {
      row = 0;
      giveBack();
    }
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}

  /** Whether a third of what is in use has come since the last whole collection. */
  static boolean isMuch(MemoryUsage now, MemoryUsage collected) {
    long grown = now.getUsed() - (collected == null ? 0 : collected.getUsed());
    return grown >= LEAST_BYTES && grown >= now.getUsed() / 3;
  }

  /** Collects, leaving little free in the heap, and has malloc give back what it holds free. */
  static void giveBack() {
    try {
      Object least = option(LEAST_FREE);
      Object most = option(MOST_FREE);
      set(LEAST_FREE, "10");
      set(MOST_FREE, "30");
      System.gc();
      set(MOST_FREE, most);
      set(LEAST_FREE, least);
      ask("DiagnosticCommand", "systemTrimNativeHeap");
    } catch (JMException unknown) {
      // A small or older runtime, or not glibc: it gives back less, or nothing.
    }
  }

  private static Object option(String name) throws JMException {
    return ((CompositeData) ask("HotSpotDiagnostic", "getVMOption", name)).get("value");
  }

  private static void set(String name, Object value) throws JMException {
    ask("HotSpotDiagnostic", "setVMOption", name, value.toString());
  }

  /** Asks by name: not every runtime has the classes. */
  private static Object ask(String bean, String operation, Object... texts) throws JMException {
    String[] types = new String[texts.length];
    Arrays.fill(types, String.class.getName());
    return ManagementFactory.getPlatformMBeanServer()
        .invoke(new ObjectName("com.sun.management:type=" + bean), operation, texts, types);
  }

  private static MemoryPoolMXBean oldGeneration() {
    for (MemoryPoolMXBean each : ManagementFactory.getMemoryPoolMXBeans()) {
      if (each.getType() == MemoryType.HEAP && each.getName().endsWith("Old Gen")) {
        return each;
      }
    }
    return null;
  }
}
