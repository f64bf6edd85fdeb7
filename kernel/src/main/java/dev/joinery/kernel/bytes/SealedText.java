package dev.joinery.kernel.bytes;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/**
 * How a sealed value is written: {@code jy1:}, the name of its subject, {@code :}, what is sealed.
 *
 * <p>A subject's name is 16 bytes that only the vault can tell from its key. Nothing sealed is a
 * value of an erased subject.
 */
public final class SealedText {
  private static final byte[] HEAD = "jy1:".getBytes(StandardCharsets.US_ASCII);
  public static final int NAME_BYTES = 16;
  private static final int NAME_TEXT = 22;
  private static final int BODY_AT = HEAD.length + NAME_TEXT + 1;
  private static final Base64.Encoder BASE64 = Base64.getUrlEncoder().withoutPadding();

  private SealedText() {}

  /** Writes what is sealed for a subject; {@code sealed} is empty where it was erased. */
  public static byte[] of(byte[] name, byte[] sealed) {
    byte[] named = BASE64.encode(name);
    byte[] body = BASE64.encode(sealed);
    byte[] text = Arrays.copyOf(HEAD, BODY_AT + body.length);
    System.arraycopy(named, 0, text, HEAD.length, NAME_TEXT);
    text[BODY_AT - 1] = ':';
    System.arraycopy(body, 0, text, BODY_AT, body.length);
    return text;
  }

  /** Whether two values were sealed for the same subject. */
  public static boolean isOfOneSubject(byte[] one, byte[] other) {
    return one.length >= BODY_AT
        && other.length >= BODY_AT
        && Arrays.equals(one, 0, BODY_AT, other, 0, BODY_AT);
  }
}
