package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.ProgramReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * What patterns forget by the watermark. The program is the planner's, of {@code waiting.yaml}: one
 * pattern waits until none can follow any more, one does not.
 */
class ForgottenPatternTest {
  private static final long START = 1_700_000_000_000_000L;
  private static final long MINUTE = 60_000_000L;
  private static final Table TABLE =
      Table.of("e", 1, "id bigint, who bigint, a boolean, b boolean, at timestamp");

  private final Program program = program();
  private final Network network = new Network(new Chain(program));
  private int told;

  private static Program program() {
    try (InputStream file = ForgottenPatternTest.class.getResourceAsStream("/waiting.json")) {
      return ProgramReader.read(new String(file.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  /** What is sent in the batch of a row, which is the newest of its log. */
  private List<Emission> take(long at, boolean first) {
    List<Object> row = Arrays.asList((long) ++told, 1L, first, false, at);
    LogChange change = new LogChange(TABLE, Message.OP_UPSERT, row, told, told);
    return network.batchUpTo(at, List.of(change), START + told, new Random(told));
  }

  private long patternBytes() {
    return IntStream.range(0, program.nodes().size())
        .filter(each -> program.nodes().get(each) instanceof PatternProgram)
        .mapToLong(network::stateBytes)
        .sum();
  }

  @Test
  void rowsThatBeginNoMatchAreForgottenAlsoWhereMatchesWait() {
    long[] bytes = new long[2];
    for (int part = 0; part < bytes.length; part++) {
      for (int i = 0; i < 400; i++) {
        long at = START + told * MINUTE / 6;
        take(at, false);
        network.reach(at);
      }
      bytes[part] = patternBytes();
    }

    assertTrue(bytes[1] <= bytes[0] * 1.1, bytes[0] + " bytes, then " + bytes[1]);
  }

  @Test
  void aMatchThatWaitsIsKeptAlthoughTheRelationWasSaidToBePastIt() {
    assertEquals(List.of(), take(START, true));
    network.reach(START + 600 * MINUTE);
    assertEquals(List.of(), take(START + 10 * MINUTE, false));

    List<Emission> sent = take(START + 21 * MINUTE, false);

    assertEquals(1, sent.size());
    assertTrue(sent.get(0).key().contains("{\"id\":1}"), sent.get(0).key());
  }
}
