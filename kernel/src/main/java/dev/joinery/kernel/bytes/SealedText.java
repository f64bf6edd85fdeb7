package dev.joinery.kernel.bytes;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/**
 * How a sealed value is written: {@code jy1:} for a text and {@code jy2:} for what is sealed as JSON,
 * the name of its subject, {@code :}, what is sealed.
 *
 * <p>A subject's name is 16 bytes that only the vault can tell from its key. Nothing sealed is a
 * value of an erased subject.
 */
public final class SealedText {
  private static final byte[] HEAD = "jy1:".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] JSON_HEAD = "jy2:".getBytes(StandardCharsets.US_ASCII);
  public static final int NAME_BYTES = 16;
  private static final int NAME_TEXT = 22;
  private static final int BODY_AT = HEAD.length + NAME_TEXT + 1;

  /** What AES-SIV makes of nothing is as long; the mark of an erasure is shorter. */
  private static final int LEAST_BODY = 22;

  private static final Base64.Encoder BASE64 = Base64.getUrlEncoder().withoutPadding();

  private SealedText() {}

  /** Writes what is sealed for a subject; {@code sealed} is empty where it was erased. */
  public static byte[] of(byte[] name, byte[] sealed, boolean text) {
    byte[] named = BASE64.encode(name);
    byte[] body = BASE64.encode(sealed);
    byte[] whole = Arrays.copyOf(text ? HEAD : JSON_HEAD, BODY_AT + body.length);
    System.arraycopy(named, 0, whole, HEAD.length, NAME_TEXT);
    whole[BODY_AT - 1] = ':';
    System.arraycopy(body, 0, whole, BODY_AT, body.length);
    return whole;
  }

  /** The same without the mark of an erasure, which tells one erasure from another. */
  public static byte[] unmarked(byte[] text) {
    return isErased(text) ? Arrays.copyOf(text, BODY_AT) : text;
  }

  /** Whether nothing is sealed in a value: its subject was erased. */
  public static boolean isErased(byte[] text) {
    return text.length >= BODY_AT && text.length - BODY_AT < LEAST_BODY;
  }

  /** Whether two values of one column were sealed for the same subject. */
  public static boolean isOfOneSubject(byte[] one, byte[] other) {
    return one.length >= BODY_AT
        && other.length >= BODY_AT
        && Arrays.equals(one, 0, BODY_AT, other, 0, BODY_AT);
  }
}
