package dev.joinery.kernel.door;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.ingress.Sealing;
import dev.joinery.kernel.ingress.VaultAddress;
import dev.joinery.kernel.program.CompiledAssembler;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;

/**
 * Reads how personal columns are sealed: {@code {"port", "token", "erasures": the first number of a
 * topic of erasures, "formats": what {@link Formats#of} reads of them, "spools": by topic, whether a
 * capture may have sealed its lines}}.
 */
final class SealingText {
  private SealingText() {}

  /**
   * The sealing that a text tells; null where it is empty.
   *
   * @param compiler of what is derived from personal columns
   */
  static Sealing read(String text, Program program, Compiler compiler) {
    if (text.isEmpty()) {
      return null;
    }
    try {
      ObjectMapper json = new ObjectMapper();
      JsonNode told = json.readTree(text);
      return new Sealing(
          new VaultAddress(told.get("port").asInt(), told.get("token").asText()),
          told.get("erasures").asInt(),
          Formats.of(told.get("formats").toString()),
          json.convertValue(told.get("spools"), boolean[].class),
          program.relations().stream().map(each -> derived(each, compiler)).toList());
    } catch (JsonProcessingException notJson) {
      throw new IllegalArgumentException("not the address of a vault");
    }
  }

  /** What derives columns of a relation from personal ones; null where nothing does. */
  private static CompiledAssembler derived(Program.RelationProgram relation, Compiler compiler) {
    boolean none = relation.sealed() == null || relation.sealed().derived() == null;
    return none ? null : compiler.compile(relation.sealed().derived());
  }
}
