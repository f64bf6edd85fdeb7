package dev.joinery.capture;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HashSet;
import java.util.Set;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Seals the lines of tables with personal columns: {@code jyl1:}, the key's name, {@code :}, a nonce
 * and what AES-GCM makes of the line. Remembers the key that it was told last.
 *
 * <p>Invariant: no line of such a table stands in a file in clear.
 */
final class Seal {
  private static final byte[] HEAD = "jyl1:".getBytes(StandardCharsets.US_ASCII);
  private static final int NONCE_BYTES = 12;
  private static final int TAG_BITS = 128;

  private final Set<String> tables = new HashSet<>();
  private final SecureRandom random = new SecureRandom();
  private volatile Key key;

  private record Key(byte[] name, SecretKeySpec secret) {}

  /** {@code told} is {@code {"tables", "name", "key"}}; null or missing where nothing is sealed. */
  Seal(JsonNode told) {
    if (told != null && !told.isNull() && !told.isMissingNode()) {
      told.required("tables").forEach(each -> tables.add(each.asText()));
      key = keyOf(told);
    }
  }

  /** Takes another key, as JSON. */
  void renew(String told) throws IOException {
    key = keyOf(new ObjectMapper().readTree(told));
  }

  private static Key keyOf(JsonNode told) {
    byte[] name = told.required("name").asText().getBytes(StandardCharsets.UTF_8);
    byte[] secret = Base64.getDecoder().decode(told.required("key").asText());
    byte[] label = Base64.getUrlEncoder().withoutPadding().encode(name);
    return new Key(label, new SecretKeySpec(secret, "AES"));
  }

  /** Returns a line of a table as it may stand in a file. */
  byte[] of(String table, byte[] line) {
    if (!tables.contains(table)) {
      return line;
    }
    Key current = key;
    byte[] nonce = new byte[NONCE_BYTES];
    random.nextBytes(nonce);
    try {
      Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
      cipher.init(Cipher.ENCRYPT_MODE, current.secret(), new GCMParameterSpec(TAG_BITS, nonce));
      cipher.updateAAD(current.name());
      byte[] made = new byte[NONCE_BYTES + cipher.getOutputSize(line.length)];
      System.arraycopy(nonce, 0, made, 0, NONCE_BYTES);
      cipher.doFinal(line, 0, line.length, made, NONCE_BYTES);
      return text(current.name(), Base64.getUrlEncoder().withoutPadding().encode(made));
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException("a line cannot be sealed", impossible);
    }
  }

  private static byte[] text(byte[] name, byte[] body) {
    byte[] text = new byte[HEAD.length + name.length + 1 + body.length];
    System.arraycopy(HEAD, 0, text, 0, HEAD.length);
    System.arraycopy(name, 0, text, HEAD.length, name.length);
    text[HEAD.length + name.length] = ':';
    System.arraycopy(body, 0, text, HEAD.length + name.length + 1, body.length);
    return text;
  }
}
