package dev.joinery.kernel.door;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.Arrays;
import java.util.List;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerInterface;
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryIdleEvent;
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryProgressEvent;
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryStartedEvent;
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/**
 * Gives memory back to the machine once all backlogs are worked off, for a JVM that we started.
 *
 * <p>What large batches leave behind lies in the heap's old generation and in the arenas of malloc.
 * The JVM would collect it when the whole heap is full, and give none of it back.
 *
 * <p>It listens to the context, and so to the queries of all sessions, also cloned ones. The pause
 * grows with what lives in the heap; real-time mode, which must have none, ends the giving.
 */
final class SpareMemory extends SparkListener {
  private static final long LEAST_BYTES = 48 << 20;
  private static final String LEAST_FREE = "MinHeapFreeRatio";
  private static final String MOST_FREE = "MaxHeapFreeRatio";

  private final MemoryPoolMXBean old = oldGeneration();
  private final Backlogs backlogs = new Backlogs();

  /** Ends the giving, for as long as the context lasts. */
  static void keep(SparkContext context) {
    for (SparkListenerInterface each : List.copyOf(context.listenerBus().listeners())) {
      if (each instanceof SpareMemory) {
        context.removeSparkListener(each);
      }
    }
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof QueryStartedEvent started) {
      backlogs.begin(started.runId());
    } else if (event instanceof QueryTerminatedEvent ended) {
      backlogs.end(ended.runId());
    } else if (event instanceof QueryIdleEvent idle) {
      backlogs.idle(idle.runId());
      giveSpare();
    } else if (event instanceof QueryProgressEvent told) {
      StreamingQueryProgress progress = told.progress();
      backlogs.batch(progress.runId(), progress.batchDuration());
      giveSpare();
    }
  }

  private void giveSpare() {
    if (backlogs.none() && old != null && isMuch(old.getUsage(), old.getCollectionUsage())) {
      backlogs.startOver();
      giveBack();
    }
  }

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
