package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.message.Counters;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which keys tasks tell of, against exact counts. */
class FrequentKeysTest {
  private static final HexFormat HEX = HexFormat.of();
  private static final int KEYS = 10_000;
  private static final int MESSAGES = 200_000;

  @Test
  void ofManyMessagesTheCountsOfTheMostFrequentKeysAreExact() throws JsonProcessingException {
    long[] exact = zipf(1.2, 7);

    JsonNode told = told(exact, 1);

    assertEquals(MESSAGES, told.at("/nodes/3/messages").asLong());
    assertTrue(told.at("/keys/3/" + code(0)).asLong() > MESSAGES / 10);
    checkAgainst(exact, told, 1);
  }

  @Test
  void whatTasksTellAddsUp() throws JsonProcessingException {
    long[] exact = zipf(1.1, 8);

    JsonNode told = told(exact, 4);

    assertEquals(MESSAGES, told.at("/nodes/3/messages").asLong());
    checkAgainst(exact, told, 4);
  }

  @Test
  void ofKeysWithAsManyMessagesEachNoneIsTold() throws JsonProcessingException {
    long[] exact = new long[KEYS];
    Arrays.fill(exact, 20);

    JsonNode told = told(exact, 2);

    assertTrue(told.at("/keys").isMissingNode());
    assertEquals(20, told.at("/left_out/3/messages").asLong());
  }

  @Test
  void ofAFewMessagesNoneIsTold() throws JsonProcessingException {
    JsonNode told = told(new long[] {FrequentKeys.LEAST - 1, 1}, 1);

    assertTrue(told.at("/keys").isMissingNode());
    assertEquals(FrequentKeys.LEAST, told.at("/nodes/3/messages").asLong());
    assertEquals(FrequentKeys.LEAST - 1, told.at("/left_out/3/messages").asLong());
  }

  @Test
  void ofALongAddressTheBeginningIsTold() throws JsonProcessingException {
    byte[] address = Address.of(2, new byte[10_000]);
    FrequentKeys keys = new FrequentKeys();
    keys.offer(address, 100);
    Counters counters = new Counters();

    keys.tell("2", counters);

    String code = HEX.formatHex(address, 0, FrequentKeys.BYTES);
    assertEquals(100, new ObjectMapper().readTree(counters.toJson()).at("/keys/2/" + code).asInt());
  }

  @Test
  void eachTaskBeginsFromNothing() throws JsonProcessingException {
    FrequentKeys keys = new FrequentKeys();
    keys.offer(address(0), 100);
    keys.tell("3", new Counters());
    Counters second = new Counters();

    keys.tell("3", second);

    assertEquals("{}", second.toJson());
  }

  /** What is told of keys with these counts, each of which one of some tasks has. */
  private static JsonNode told(long[] exact, int tasks) throws JsonProcessingException {
    Counters counters = new Counters();
    for (int task = 0; task < tasks; task++) {
      FrequentKeys keys = new FrequentKeys();
      for (int key = 0; key < exact.length; key++) {
        if (key % tasks == task && exact[key] > 0) {
          keys.offer(address(key), exact[key]);
        }
      }
      keys.tell("3", counters);
    }
    return new ObjectMapper().readTree(counters.toJson());
  }

  private static void checkAgainst(long[] exact, JsonNode told, int tasks) {
    Map<String, Long> byCode = new HashMap<>();
    IntStream.range(0, exact.length).forEach(key -> byCode.put(code(key), exact[key]));
    JsonNode keys = told.at("/keys/3");
    long leftOut = told.at("/left_out/3/messages").asLong();

    assertTrue(keys.size() <= tasks * FrequentKeys.MOST);
    keys.fields()
        .forEachRemaining(
            each -> assertEquals(byCode.get(each.getKey()), each.getValue().asLong()));
    byCode.forEach((code, count) -> assertTrue(keys.has(code) || count <= leftOut));
    assertTrue(leftOut < MESSAGES / FrequentKeys.PART, "every hot key is told");
  }

  /** By key how many messages it has, which fall as a power of its rank. */
  private static long[] zipf(double power, long seed) {
    double[] upTo = new double[KEYS];
    double sum = 0;
    for (int i = 0; i < KEYS; i++) {
      sum += 1 / Math.pow(i + 1, power);
      upTo[i] = sum;
    }
    long[] counts = new long[KEYS];
    Random random = new Random(seed);
    for (int i = 0; i < MESSAGES; i++) {
      int found = Arrays.binarySearch(upTo, random.nextDouble() * sum);
      counts[found < 0 ? -found - 1 : found]++;
    }
    return counts;
  }

  private static byte[] address(int key) {
    return Address.of(3, new ByteWriter(8).writeLong(key).toBytes());
  }

  private static String code(int key) {
    return HEX.formatHex(address(key));
  }
}
