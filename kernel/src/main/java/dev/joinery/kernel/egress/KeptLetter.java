package dev.joinery.kernel.egress;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A dead letter as a topic keeps it: with the beginnings of what it holds where it is too large,
 * under the id by which commands know it ({@code joinery.dead_letters.dead_letter}).
 */
final class KeptLetter {
  /** They differ when the same is refused again. */
  private static final Set<String> PASSING = Set.of("time", "detail");

  private static final int ID_DIGITS = 12;
  private static final int KEPT_CHARACTERS = 64 * 1024;

  /** No character of a text takes more bytes of JSON; a letter has two texts that may be long. */
  private static final int GROWTH = 16;

  private final ObjectNode facts;
  private final byte[] bytes;

  private KeptLetter(ObjectNode facts, byte[] bytes) {
    this.facts = facts;
    this.bytes = bytes;
  }

  /**
   * @param told the letter's JSON
   * @param most how many bytes it may have
   */
  static KeptLetter of(byte[] told, int most) {
    try {
      ObjectNode facts = (ObjectNode) new ObjectMapper().readTree(told);
      return told.length <= most ? new KeptLetter(facts, told) : cut(facts, most / GROWTH);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static KeptLetter cut(ObjectNode facts, int most) {
    int kept = Math.min(KEPT_CHARACTERS, most);
    for (Map.Entry<String, JsonNode> each : facts.properties()) {
      String text = each.getValue().textValue();
      if (text != null && text.length() > kept) {
        facts.put(each.getKey(), beginning(text, kept));
      }
    }
    facts.put("cut", true);
    return new KeptLetter(facts, facts.toString().getBytes(StandardCharsets.UTF_8));
  }

  /** Of base64 whole groups are left, of other text whole characters. */
  private static String beginning(String text, int most) {
    int end = most - most % 4;
    boolean halved = end > 0 && Character.isHighSurrogate(text.charAt(end - 1));
    return text.substring(0, halved ? end - 1 : end);
  }

  byte[] toBytes() {
    return bytes;
  }

  String reason() {
    return facts.path("reason").asText();
  }

  /** The beginning of the hash of what is lasting of it, as Python writes that. */
  String id() {
    Map<String, JsonNode> lasting = new TreeMap<>();
    for (Map.Entry<String, JsonNode> each : facts.properties()) {
      if (!PASSING.contains(each.getKey())) {
        lasting.put(each.getKey(), each.getValue());
      }
    }
    StringBuilder out = new StringBuilder();
    for (Map.Entry<String, JsonNode> each : lasting.entrySet()) {
      out.append(out.isEmpty() ? '{' : ',');
      quote(each.getKey(), out);
      out.append(':');
      if (each.getValue().isTextual()) {
        quote(each.getValue().textValue(), out);
      } else {
        out.append(each.getValue());
      }
    }
    byte[] text = out.append('}').toString().getBytes(StandardCharsets.US_ASCII);
    return HexFormat.of().formatHex(hash(text)).substring(0, ID_DIGITS);
  }

  private static byte[] hash(byte[] text) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(text);
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException(missing);
    }
  }

  /** Of what is not ASCII each unit of UTF-16 is escaped. */
  private static void quote(String text, StringBuilder out) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char each = text.charAt(i);
      switch (each) {
        case '"', '\\' -> out.append('\\').append(each);
        case '\n' -> out.append("\\n");
        case '\r' -> out.append("\\r");
        case '\t' -> out.append("\\t");
        case '\f' -> out.append("\\f");
        case '\b' -> out.append("\\b");
        default -> {
          if (each >= ' ' && each <= '~') {
            out.append(each);
          } else {
            out.append("\\u").append(HexFormat.of().toHexDigits(each));
          }
        }
      }
    }
    out.append('"');
  }
}
