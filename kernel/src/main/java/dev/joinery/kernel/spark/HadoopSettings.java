package dev.joinery.kernel.spark;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;

/**
 * Hadoop's settings in a local session of ours: without defaults that a disk does not need.
 *
 * <p>Spark sends all settings again to each operator with state in each batch, and Hadoop writes
 * where each came from with a compressor of its own. Most are defaults of YARN and MapReduce, which
 * a local session does not run, and of networks and stores, which it does not ask.
 */
public final class HadoopSettings {
  private static final String MANAGER = "spark.sql.streaming.checkpointFileManagerClass";
  private static final String CORE = "core-default.xml";
  private static final Set<String> UNUSED = Set.of("yarn-default.xml", "mapred-default.xml");

  /** Spark's word for what it sets in place of Hadoop's default. */
  private static final String OF_SPARK = "Set by Spark to default values";

  private static final String OF_CLASS = ".impl";

  /** What settings of networks and stores begin with. */
  private static final List<String> PARTS =
      List.of(
          "adl.",
          "dfs.",
          "fs.abfs",
          "fs.adl.",
          "fs.azure.",
          "fs.ftp.",
          "fs.gs.",
          "fs.hdfs.",
          "fs.obs.",
          "fs.s3a.",
          "fs.viewfs.",
          "fs.wasb",
          "ftp.",
          "ha.",
          "hadoop.caller.",
          "hadoop.http.",
          "hadoop.kerberos.",
          "hadoop.registry.",
          "hadoop.rpc.",
          "hadoop.security.",
          "hadoop.ssl.",
          "hadoop.zk.",
          "ipc.",
          "nfs.",
          "rpc.",
          "tfile.");

  private HadoopSettings() {}

  /** Leaves out what is not used, where the session is local and made by us. */
  public static void trim(SparkContext context) {
    if (context.conf().get(MANAGER, "").equals(LocalCheckpoint.class.getName())) {
      trim(context.hadoopConfiguration());
    }
  }

  /**
   * What a user set, in a file or in Spark's settings, stays; and so does all that begins like it,
   * where that is of a network or a store. The classes of file systems stay, since a session may
   * read another than its checkpoint's; for the rest they have the same defaults in their code.
   */
  public static void trim(Configuration settings) {
    Map<String, String> parts = new TreeMap<>();
    Set<String> asked = new HashSet<>();
    for (Map.Entry<String, String> each : settings) {
      String source = sourceOf(settings, each.getKey());
      String part = partOf(each.getKey());
      if (UNUSED.contains(source)) {
        parts.put(each.getKey(), source);
      } else if (part != null && (source.equals(CORE) || source.equals(OF_SPARK))) {
        parts.put(each.getKey(), part);
      } else if (part != null) {
        asked.add(part);
      }
    }
    parts.values().removeAll(asked);
    parts.keySet().forEach(settings::unset);
  }

  private static String sourceOf(Configuration settings, String name) {
    String[] sources = settings.getPropertySources(name);
    return sources != null && sources.length == 1 ? sources[0] : "";
  }

  private static String partOf(String name) {
    return name.endsWith(OF_CLASS)
        ? null
        : PARTS.stream().filter(name::startsWith).findFirst().orElse(null);
  }
}
