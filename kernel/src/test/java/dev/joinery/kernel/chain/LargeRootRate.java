package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.Program;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.LongFunction;

/**
 * Prints what one change of a child costs at a root with many, in the nodes that it passes; run by
 * hand, with what the names of samples begin with, and numbers of children. State is in memory, so
 * what a store takes is not in it.
 */
final class LargeRootRate {
  private static final Table POST =
      Table.of("post", 1, "id long, topic long, score long, title string");
  private static final Table TOPIC = Table.of("topic", 1, "id long, slug long");
  private static final int CHANGES = 8;
  private static final int WARM = 3;

  private long place;

  private LargeRootRate() {}

  /** A document, and what becomes of its children. */
  private record Sample(String name, Tree tree, LongFunction<Object[]> change, long maxBytes) {
    Sample(String name, Tree tree, LongFunction<Object[]> change) {
      this(name, tree, change, 1L << 40);
    }
  }

  public static void main(String[] arguments) {
    for (int i = 1; i < arguments.length; i++) {
      long count = Long.parseLong(arguments[i]);
      samples(count).stream()
          .filter(each -> each.name().startsWith(arguments[0]))
          .forEach(each -> new LargeRootRate().print(each, count));
    }
    System.exit(0);
  }

  private static long cpu() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  private static Tree posts(String on) {
    return Tree.many("posts", POST, on).order("score", true);
  }

  private static List<Sample> samples(long count) {
    Tree limited = posts("topic=slug").limit(10);
    Tree counted =
        posts("topic=slug")
            .limit(1)
            .aggregates("count:score", "sum:score", "min:score", "max:score");
    LongFunction<Object[]> more = each -> row(count + each, count / 2);
    return List.of(
        new Sample("list, one more", posts("topic=id"), more),
        new Sample("list above the limit, one more", posts("topic=id"), more, count * 32),
        new Sample("list of a Match, one more", posts("topic=slug"), more),
        new Sample("list, one leaves", posts("topic=id"), each -> gone(count / 2 + each)),
        new Sample("limit 10, one more in front", limited, each -> row(count + each, count + each)),
        new Sample("limit 10, the first leaves", limited, each -> gone(count - 1 - each)),
        new Sample("aggregates, one more", counted, more),
        new Sample("aggregates, the greatest leaves", counted, each -> gone(count - 1 - each)));
  }

  private static Object[] row(long id, long score) {
    return new Object[] {id, 7L, score, "A title of some words, number " + id};
  }

  private static Object[] gone(long id) {
    return new Object[] {id, null, null, null};
  }

  private LogChange change(Object[] row) {
    place++;
    int op = row[1] == null ? Message.OP_DELETE : Message.OP_UPSERT;
    return new LogChange(POST, op, Arrays.asList(row), place, place);
  }

  private void print(Sample sample, long count) {
    Tree topic = Tree.root("topic", TOPIC, sample.tree());
    Program program = TreeProgram.limited(TreeProgram.of(true, topic), sample.maxBytes());
    Network network = new Network(new Chain(program));
    place++;
    network.batch(
        List.of(new LogChange(TOPIC, Message.OP_UPSERT, List.of(7L, 7L), place, place)),
        place,
        new Random(1));
    for (long from = 0; from < count; from += 100_000) {
      List<LogChange> changes = new ArrayList<>();
      for (long each = from; each < Math.min(count, from + 100_000); each++) {
        changes.add(change(row(each, each)));
      }
      network.batch(changes, place, new Random(1));
    }
    long[] nanos = new long[program.nodes().size()];
    long[] written = new long[nanos.length];
    long rendered = 0;
    for (int i = 0; i < CHANGES + WARM; i++) {
      if (i == WARM) {
        Arrays.fill(nanos, 0);
        rendered = 0;
        for (int node = 0; node < nanos.length; node++) {
          written[node] = network.bytesWritten(node);
        }
      }
      network.resetCounts();
      LogChange change = change(sample.change().apply(i));
      long begun = cpu();
      network.batch(List.of(change), place, new Random(1));
      rendered += cpu() - begun;
      for (int node = 0; node < nanos.length; node++) {
        nanos[node] += network.nanos(node);
        rendered -= network.nanos(node);
      }
    }
    StringBuilder line = new StringBuilder();
    line.append(String.format("%,9d children, %-32s", count, sample.name()));
    for (int node = 0; node < nanos.length; node++) {
      line.append(
          String.format(
              " %s %.2f ms %,d B,",
              program.nodes().get(node).getClass().getSimpleName().replace("Program", ""),
              nanos[node] / 1e6 / CHANGES,
              (network.bytesWritten(node) - written[node]) / CHANGES));
    }
    System.out.println(line + String.format(" rendering %.2f ms", rendered / 1e6 / CHANGES));
  }
}
