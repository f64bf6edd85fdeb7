package dev.joinery.kernel.files;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.admission.BatchOptions;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * What a reader of change files was asked for.
 *
 * @param path the folder that holds one folder a topic
 * @param topics in the order of their numbers in the rows
 * @param batch what bounds a batch; of its bytes it takes at most one line more
 * @param maxRecordBytes a longer line is passed on cut off, with an error
 * @param partitions tasks a batch, at most; 0 stands for Spark's default parallelism
 * @param inOrder topics each of which is read by one task
 * @param sizes by topic and name, the bytes of files that are read at most; others are read whole
 * @param tail the folder of the files that are being written, as {@link Tails} has them; empty where
 *     only complete files are read
 * @param until where to end, as the stream tells it; empty for all that there is
 * @param labels where the stream noted the files that it has seen, which alone are read; empty for
 *     all that there are
 */
record FilesOptions(
    String path,
    List<String> topics,
    BatchOptions batch,
    int maxRecordBytes,
    int partitions,
    List<String> inOrder,
    Map<String, Map<String, Long>> sizes,
    String tail,
    String until,
    String labels)
    implements Serializable {
  private static final int DEFAULT_MAX_RECORD_BYTES = 8 << 20;

  static FilesOptions of(CaseInsensitiveStringMap options) {
    String path = options.get("path");
    if (path == null || path.isEmpty()) {
      throw new FilesError("the files source needs the option \"path\"");
    }
    return new FilesOptions(
        path,
        topics(options.get("topics")),
        BatchOptions.of(options),
        (int) Math.min(
            options.getLong("maxRecordBytes", DEFAULT_MAX_RECORD_BYTES), Integer.MAX_VALUE / 2),
        options.getInt("partitions", 0),
        topics(options.getOrDefault("inOrder", "[]")),
        sizes(options.getOrDefault("sizes", "{}")),
        options.getOrDefault("tail", ""),
        options.getOrDefault("until", ""),
        options.getOrDefault("labels", ""));
  }

  private static Map<String, Map<String, Long>> sizes(String json) {
    try {
      return new ObjectMapper().readValue(json, new TypeReference<>() {});
    } catch (JsonProcessingException notSizes) {
      throw new FilesError("the option \"sizes\" is JSON: bytes by topic and file", notSizes);
    }
  }

  private static List<String> topics(String json) {
    try {
      return List.of(new ObjectMapper().readValue(json == null ? "" : json, String[].class));
    } catch (JsonProcessingException notAList) {
      throw new FilesError("the option \"topics\" is a JSON list of names", notAList);
    }
  }
}
