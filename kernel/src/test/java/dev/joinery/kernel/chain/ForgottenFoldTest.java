package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.TextNode;
import dev.joinery.kernel.ingress.PendingRoots;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.ProgramReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Documents whose rows are forgotten by the watermark, and are told of after a crash in real time.
 * The program is the planner's, of {@code intervals.yaml}.
 */
class ForgottenFoldTest {
  private static final long START = 1_700_000_000_000_000L;
  private static final long DAY = 24L * 3600 * 1_000_000;
  private static final Table SEARCH = Table.of("search", 1, "id bigint, at timestamp");
  private static final Table CLICK = Table.of("click", 1, "id bigint, search_id bigint, at timestamp");

  private final Random random = new Random(7);
  private String watermarks;
  private final Network network = new Network(new Chain(program(), null, () -> watermarks));

  private static Program program() {
    try (InputStream file = ForgottenFoldTest.class.getResourceAsStream("/intervals.json")) {
      return ProgramReader.read(new String(file.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  /** The documents of some searches with clicks, which are committed. */
  private List<Emission> commit() {
    List<LogChange> changes = new ArrayList<>();
    for (long id = 0; id < 8; id++) {
      changes.add(change(SEARCH, id, id, START + id));
      changes.add(change(CLICK, id, id, id, START + id + 1));
    }
    List<Emission> committed = network.batch(changes, START, random);
    assertEquals(8, committed.size());
    return committed;
  }

  private static LogChange change(Table table, long position, Object... row) {
    return new LogChange(table, Message.OP_UPSERT, Arrays.asList(row), position, position);
  }

  /** The logs are a day further; what is over is removed at once, or later. */
  private void goOn(boolean removes) {
    long now = START + DAY;
    watermarks =
        "{\"search\":{\"watermark\":%1$d},\"click\":{\"watermark\":%1$d}}".formatted(now);
    network.reach(now);
    if (removes) {
      network.forgetWindows(now);
      assertEquals(0, network.addressCount());
    } else {
      assertTrue(network.addressCount() > 0);
    }
  }

  private List<PendingRoots.Root> told(List<Emission> sent, long later) {
    return network.roots(
        sent.stream()
            .map(
                each ->
                    "{\"product\":\"%s\",\"key\":%s,\"version\":%d}"
                        .formatted(
                            each.product(), TextNode.valueOf(each.key()), each.version() + later)));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatWasCommittedStaysThoughItsRowsWereForgottenSince(boolean removes) {
    List<PendingRoots.Root> roots = told(commit(), 0);

    assertEquals(List.of(), network.batch(List.of(), roots, START + 1, random));
    goOn(removes);

    assertEquals(List.of(), network.batch(List.of(), roots, START + DAY, random));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatWasNeverCommittedGoes(boolean removes) {
    List<PendingRoots.Root> roots = told(commit(), 1);
    goOn(removes);

    List<Emission> gone = network.batch(List.of(), roots, START + DAY, random);

    assertEquals(8, gone.size());
    gone.forEach(each -> assertEquals(null, each.value()));
  }
}
