package dev.joinery.kernel.program;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** A program that names what this kernel does not have is refused, never read as something else. */
class ProgramReaderTest {
  private static String refusal(String node) {
    String program = "{\"levels\": 1, \"relations\": [], \"nodes\": [" + node + "]}";
    return assertThrows(IllegalArgumentException.class, () -> ProgramReader.read(program))
        .getMessage();
  }

  @Test
  void aNodeOfAnUnknownKindIsRefused() {
    assertEquals("no NodeProgram of kind window", refusal("{\"kind\": \"window\"}"));
  }

  @Test
  void anUnknownUseIsRefused() {
    String retract = "{\"kind\": \"retract\", \"name\": \"n\", \"level\": 1, \"relation\": 0,";

    assertEquals("no Use of kind sibling", refusal(retract + "\"uses\": [{\"use\": \"sibling\"}]}"));
  }
}
