package dev.joinery.kernel.message;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Row;

/** Writes the dead letter of a raw record that cannot be used; remembers nothing. */
public final class RecordLetter {
  public static final String POISON = "poison";

  private static final int KEPT_OF_OVERSIZE = 64 * 1024;

  private RecordLetter() {}

  /** {@code record} has the columns of {@code Ingress.COLUMNS}. */
  public static DeadLetter of(
      Row record, String source, String topic, String reason, String detail) {
    return of(record, source, topic, reason, detail, UnaryOperator.identity());
  }

  /** The same; {@code kept} gives what is kept of its bytes. */
  public static DeadLetter of(
      Row record,
      String source,
      String topic,
      String reason,
      String detail,
      UnaryOperator<byte[]> kept) {
    DeadLetter letter = new DeadLetter(reason, detail).put("source", source).put("topic", topic);
    putPlace(letter, record);
    letter.time(record.getLong(7));
    boolean whole = record.isNullAt(6) || record.getString(6).equals(POISON);
    int most = whole ? Integer.MAX_VALUE : KEPT_OF_OVERSIZE;
    put(letter, "key", record.isNullAt(4) ? null : (byte[]) record.get(4), most, kept);
    put(letter, "value", record.isNullAt(5) ? null : (byte[]) record.get(5), most, kept);
    return whole ? letter : letter.put("cut", true);
  }

  private static void putPlace(DeadLetter letter, Row record) {
    long number = record.getLong(2);
    if (!record.isNullAt(3)) {
      letter.put("file", text((byte[]) record.get(3))).put("line", number);
    } else if (number != RawChange.ORDERLESS) {
      letter.put("partition", record.getLong(1)).put("offset", number);
    }
  }

  private static void put(
      DeadLetter letter, String name, byte[] raw, int most, UnaryOperator<byte[]> keeping) {
    if (raw == null) {
      letter.put(name, (String) null);
      return;
    }
    byte[] kept = keeping.apply(raw.length <= most ? raw : Arrays.copyOf(raw, most));
    String text = text(kept);
    if (text != null) {
      letter.put(name, text);
    } else {
      letter.put(name + "_base64", Base64.getEncoder().encodeToString(kept));
    }
  }

  /** The bytes as text; null where they are none. */
  public static String text(byte[] raw) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(raw)).toString();
    } catch (CharacterCodingException notText) {
      return null;
    }
  }
}
