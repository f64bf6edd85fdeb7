package dev.joinery.kernel.egress;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** A letter has the id that commands give it, and fits its topic. */
class KeptLetterTest {
  private static byte[] letter(String value) {
    String text =
        "{\"reason\": \"wrong_type\", \"detail\": \"d\", \"source\": \"s\", \"topic\": \"t\","
            + " \"partition\": 3, \"offset\": 9007199254740993, \"time\": \"2026-01-01T00:00:00Z\","
            + " \"key\": null, \"value\": \""
            + value
            + "\", \"cut\": true}";
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** The id is what parse_dead_letter makes of the same line. */
  @Test
  void itsIdIsThatOfPython() {
    byte[] told = letter("\u00e9 \\\"x\\\"\\\\ \\n\\t\u007f \ud834\udd1e");

    KeptLetter letter = KeptLetter.of(told, 1_000_000);

    assertEquals("9783ca2da79a", letter.id());
    assertEquals("wrong_type", letter.reason());
    assertArrayEquals(told, letter.toBytes());
  }

  @Test
  void ofALargeOneTheBeginningIsKept() throws IOException {
    KeptLetter letter = KeptLetter.of(letter("\\u0001".repeat(300_000)), 1_000_000);

    JsonNode kept = new ObjectMapper().readTree(letter.toBytes());
    assertTrue(letter.toBytes().length <= 1_000_000);
    assertEquals("true", kept.path("cut").toString());
    assertEquals(62_500, kept.path("value").asText().length());
    assertEquals("9007199254740993", kept.path("offset").toString());
  }

  @Test
  void noCharacterIsHalved() throws IOException {
    KeptLetter letter = KeptLetter.of(letter("abc" + "\ud834\udd1e".repeat(300)), 1_000);

    JsonNode kept = new ObjectMapper().readTree(letter.toBytes());
    assertEquals("abc" + "\ud834\udd1e".repeat(28), kept.path("value").asText());
  }
}
