package dev.joinery.kernel.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;

/**
 * Hadoop's settings in a local session of ours: without what YARN and MapReduce have by default.
 *
 * <p>Spark sends all settings anew to each operator with state in each batch, and Hadoop writes
 * where each came from with a compressor of its own; two in three are for YARN and MapReduce,
 * which a local session does not run.
 */
public final class HadoopSettings {
  private static final String MANAGER = "spark.sql.streaming.checkpointFileManagerClass";
  private static final Set<String> UNUSED = Set.of("yarn-default.xml", "mapred-default.xml");

  private HadoopSettings() {}

  /** Leaves out what is not used, where the session is local and made by us. */
  public static void trim(SparkContext context) {
    if (context.conf().get(MANAGER, "").equals(LocalCheckpoint.class.getName())) {
      trim(context.hadoopConfiguration());
    }
  }

  /** What a user set, in a file or in Spark's settings, stays. */
  public static void trim(Configuration settings) {
    List<String> unused = new ArrayList<>();
    for (Map.Entry<String, String> each : settings) {
      String[] sources = settings.getPropertySources(each.getKey());
      if (sources != null && sources.length == 1 && UNUSED.contains(sources[0])) {
        unused.add(each.getKey());
      }
    }
    unused.forEach(settings::unset);
  }
}
