package dev.joinery.kernel.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;

/**
 * The schemas of a schema registry with Confluent's interface; remembers each, since an id never
 * gets another schema. Shared by the threads of a process.
 */
final class Registry implements Schemas, Serializable {
  private static final long MISSED_NANOS = 10_000_000_000L;

  private final RegistryOptions options;
  private transient Map<Long, Schema> known;
  private transient Map<Long, Miss> missed;
  private transient RegistryClient client;

  /** An id that has no schema of Avro: why, and when it was asked for. */
  private record Miss(String why, long atNanos) {}

  Registry(RegistryOptions options) {
    this.options = options;
  }

  @Override
  public int idBytes() {
    return options.idBytes();
  }

  @Override
  public Schema schema(long id) {
    Schema schema = known().get(id);
    return schema != null ? schema : ask(id);
  }

  private synchronized Map<Long, Schema> known() {
    if (known == null) {
      known = new ConcurrentHashMap<>();
      missed = new ConcurrentHashMap<>();
      client = new RegistryClient(options);
    }
    return known;
  }

  /** Asks once for all threads that want the schema at the same time. */
  private synchronized Schema ask(long id) {
    Schema schema = known.get(id);
    if (schema != null) {
      return schema;
    }
    Miss miss = missed.get(id);
    if (miss != null && System.nanoTime() - miss.atNanos < MISSED_NANOS) {
      throw Rejected.undecodable(miss.why);
    }
    try {
      schema = fetch(id);
    } catch (Rejected rejected) {
      missed.put(id, new Miss(rejected.detail(), System.nanoTime()));
      throw rejected;
    }
    missed.remove(id);
    known.put(id, schema);
    return schema;
  }

  private Schema fetch(long id) {
    String what = "schema " + id;
    JsonNode answer = client.get("/schemas/ids/" + id, what);
    if (answer == null) {
      throw Rejected.undecodable(what + " is not in the schema registry");
    }
    String type = answer.path("schemaType").asText("AVRO");
    if (!type.equals("AVRO")) {
      throw Rejected.undecodable(what + " is of " + type + ", not of Avro");
    }
    Schema.Parser parser = new Schema.Parser(NameValidator.NO_VALIDATION);
    parser.setValidateDefaults(false);
    references(answer, parser, new HashSet<>());
    return parse(parser, answer, what);
  }

  private static Schema parse(Schema.Parser parser, JsonNode answer, String what) {
    try {
      return parser.parse(answer.path("schema").asText());
    } catch (RuntimeException notAvro) { // of several kinds, a null pointer among them
      throw Rejected.undecodable(what + " is not a schema of Avro");
    }
  }

  /** Reads the schemas that another names, before it. */
  private void references(JsonNode answer, Schema.Parser parser, Set<String> seen) {
    for (JsonNode reference : answer.path("references")) {
      String subject = reference.path("subject").asText();
      String version = reference.path("version").asText();
      if (!seen.add(subject + ":" + version)) {
        continue;
      }
      String encoded = URLEncoder.encode(subject, StandardCharsets.UTF_8).replace("+", "%20");
      String what = "version " + version + " of subject \"" + subject + "\"";
      JsonNode referred = client.get("/subjects/" + encoded + "/versions/" + version, what);
      if (referred == null) {
        throw Rejected.undecodable(what + " is not in the schema registry");
      }
      references(referred, parser, seen);
      parse(parser, referred, what);
    }
  }
}
