package dev.joinery.kernel.files;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;

/**
 * Remembers, in the source's own folder of the checkpoint, which files were seen in which order and
 * how they are labelled. Each discovery is a segment; now and then one holds all before it too.
 *
 * <p>Invariant: a segment stands complete under its name before an offset counts on it.
 */
final class LabelLog {
  private static final int FORMAT = 1;
  private static final int SEGMENTS_A_SNAPSHOT = 64;
  private static final String SUFFIX = ".labels";
  private static final ObjectMapper JSON = new ObjectMapper();

  private final LogFolder folder;
  private int next;

  LabelLog(LogFolder folder) {
    this.folder = folder;
  }

  /** Returns all files that were ever seen, each topic's in the order of their numbers. */
  List<KnownFile> read() {
    try {
      List<KnownFile> files = new ArrayList<>();
      List<Integer> segments = segments();
      int first = 0;
      for (int i = segments.size() - 1; i > 0 && first == 0; i--) {
        first = lines(segments.get(i)).get(0).path("all").asBoolean() ? i : 0;
      }
      for (int segment : segments.subList(first, segments.size())) {
        lines(segment).stream().skip(1).map(LabelLog::file).forEach(files::add);
        next = segment + 1;
      }
      return files;
    } catch (IOException failure) {
      throw new FilesError("could not read the labels of files in " + folder, failure);
    }
  }

  /** Adds {@code found}; {@code all} holds every file, these included. */
  void append(List<KnownFile> found, Collection<KnownFile> all) {
    boolean snapshot = next % SEGMENTS_A_SNAPSHOT == SEGMENTS_A_SNAPSHOT - 1;
    StringBuilder text = new StringBuilder();
    text.append("{\"format\":").append(FORMAT).append(",\"all\":").append(snapshot).append("}\n");
    for (KnownFile file : snapshot ? all : found) {
      text.append(line(file)).append('\n');
    }
    try {
      folder.write(name(next), text.toString().getBytes(StandardCharsets.UTF_8));
      if (snapshot) {
        for (int old : segments()) {
          if (old < next) {
            folder.delete(name(old));
          }
        }
      }
    } catch (IOException failure) {
      throw new FilesError("could not write the labels of files to " + folder, failure);
    }
    next++;
  }

  private List<Integer> segments() throws IOException {
    List<Integer> segments = new ArrayList<>();
    for (String name : folder.names()) {
      if (name.endsWith(SUFFIX) && Character.isDigit(name.charAt(0))) {
        segments.add(Integer.parseInt(name.substring(0, name.length() - SUFFIX.length())));
      }
    }
    Collections.sort(segments);
    return segments;
  }

  private static String name(int segment) {
    return String.format("%09d%s", segment, SUFFIX);
  }

  private List<JsonNode> lines(int segment) throws IOException {
    List<JsonNode> lines = new ArrayList<>();
    String text = new String(folder.read(name(segment)), StandardCharsets.UTF_8);
    for (String line : text.split("\n")) {
      lines.add(JSON.readTree(line));
    }
    if (lines.get(0).path("format").asInt() != FORMAT) {
      throw new FilesError(
          "the labels of files in " + folder + " were written by another version of Joinery");
    }
    return lines;
  }

  private static KnownFile file(JsonNode line) {
    return new KnownFile(
        line.path("topic").asText(),
        line.path("number").asInt(),
        line.path("file").asText(),
        line.path("label").asLong(),
        line.path("size").asLong());
  }

  private static String line(KnownFile file) {
    ObjectNode line = JSON.createObjectNode();
    line.put("topic", file.topic()).put("number", file.number()).put("file", file.name());
    return line.put("label", file.label()).put("size", file.size()).toString();
  }
}
