package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.node.BatchWatermarks;
import dev.joinery.kernel.node.Closing;
import dev.joinery.kernel.node.Cuts;
import dev.joinery.kernel.node.EventFold;
import dev.joinery.kernel.node.FanOut;
import dev.joinery.kernel.node.Fold;
import dev.joinery.kernel.node.Gather;
import dev.joinery.kernel.node.Group;
import dev.joinery.kernel.node.History;
import dev.joinery.kernel.node.Interval;
import dev.joinery.kernel.node.KnownHistory;
import dev.joinery.kernel.node.Match;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.node.Pattern;
import dev.joinery.kernel.node.Removed;
import dev.joinery.kernel.node.Retract;
import dev.joinery.kernel.node.Root;
import dev.joinery.kernel.node.Rule;
import dev.joinery.kernel.node.Search;
import dev.joinery.kernel.node.Searches;
import dev.joinery.kernel.node.Session;
import dev.joinery.kernel.node.Sliding;
import dev.joinery.kernel.node.Subjects;
import dev.joinery.kernel.node.ToOne;
import dev.joinery.kernel.node.Valid;
import dev.joinery.kernel.node.Versions;
import dev.joinery.kernel.program.CompiledProgram;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.program.EventFoldProgram;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.HistoryProgram;
import dev.joinery.kernel.program.PairEventsProgram;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.RuleProgram;
import dev.joinery.kernel.program.SearchProgram;
import dev.joinery.kernel.program.StreamProgram;
import dev.joinery.kernel.program.ValidProgram;
import dev.joinery.kernel.program.VersionsProgram;
import dev.joinery.kernel.stream.AsOf;
import dev.joinery.kernel.stream.Claim;
import dev.joinery.kernel.stream.CurrentLookup;
import dev.joinery.kernel.stream.PairEvents;
import dev.joinery.kernel.stream.Rolling;
import dev.joinery.kernel.stream.Seen;
import java.util.function.Supplier;

/**
 * The nodes of a program, each made when it is first needed, and what they share.
 *
 * <p>They belong to one task at a time and are used from one thread. Nodes remember nothing between
 * addresses, so the next task may have them.
 */
public final class Nodes {
  private final NodeContext context;
  private final Node[] nodes;
  private final long[] nanos;
  private final FrequentKeys[] frequent;
  private TaskClock clock;

  public Nodes(CompiledProgram compiled) {
    this(compiled, BatchWatermarks::told);
  }

  /** {@code searches} are those that the tasks of a worker share. */
  Nodes(CompiledProgram compiled, Searches searches) {
    this(new NodeContext(compiled, BatchWatermarks::told, searches), compiled);
  }

  /** {@code watermarks} gives those before a batch, as {@link BatchWatermarks#told} does. */
  public Nodes(CompiledProgram compiled, Supplier<String> watermarks) {
    this(new NodeContext(compiled, watermarks), compiled);
  }

  private Nodes(NodeContext context, CompiledProgram compiled) {
    this.context = context;
    this.nodes = new Node[compiled.program().nodes().size()];
    this.nanos = new long[nodes.length];
    this.frequent = new FrequentKeys[nodes.length];
  }

  public NodeContext context() {
    return context;
  }

  Program program() {
    return context.program();
  }

  public Counters counters() {
    return context.counters();
  }

  public Node node(int index) {
    if (nodes[index] == null) {
      Program.NodeProgram program = program().nodes().get(index);
      if (program instanceof Program.RetractProgram retract) {
        nodes[index] = new Retract(retract, context);
      } else if (program instanceof Program.SubjectsProgram subjects) {
        nodes[index] = new Subjects(subjects, context);
      } else if (program instanceof DocumentProgram.ToOneProgram toOne) {
        nodes[index] = new ToOne(toOne, context);
      } else if (program instanceof DocumentProgram.MatchProgram match) {
        nodes[index] = new Match(index, match, context);
      } else if (program instanceof DocumentProgram.FanOutProgram fanOut) {
        nodes[index] = new FanOut(fanOut, context);
      } else if (program instanceof DocumentProgram.GatherProgram gather) {
        nodes[index] = new Gather(gather);
      } else if (program instanceof DocumentProgram.IntervalProgram interval) {
        nodes[index] = new Interval(interval, context);
      } else if (program instanceof GroupProgram group) {
        nodes[index] = group(index, group);
      } else if (program instanceof HistoryProgram history) {
        nodes[index] =
            history.known() == null
                ? new History(history, context)
                : new KnownHistory(history, context);
      } else if (program instanceof VersionsProgram versions) {
        nodes[index] = new Versions(versions, context);
      } else if (program instanceof ValidProgram valid) {
        nodes[index] = new Valid(valid);
      } else if (program instanceof EventFoldProgram events) {
        nodes[index] = new EventFold(events, context);
      } else if (program instanceof Program.ClosingProgram closing) {
        nodes[index] = new Closing(index, closing, context);
      } else if (program instanceof GroupProgram.CutsProgram cuts) {
        nodes[index] = new Cuts(cuts, context);
      } else if (program instanceof SearchProgram search) {
        nodes[index] = new Search(index, search, context);
      } else if (program instanceof PatternProgram pattern) {
        nodes[index] = new Pattern(index, pattern, context);
      } else if (program instanceof RuleProgram rule) {
        nodes[index] = new Rule(rule);
      } else if (program instanceof Program.RemovedProgram) {
        nodes[index] = new Removed();
      } else if (program instanceof StreamProgram.CurrentLookupProgram lookup) {
        nodes[index] = new CurrentLookup(lookup, context);
      } else if (program instanceof StreamProgram.AsOfProgram asOf) {
        nodes[index] = new AsOf(asOf, context);
      } else if (program instanceof StreamProgram.ClaimProgram claim) {
        nodes[index] = new Claim(claim, context);
      } else if (program instanceof StreamProgram.SeenProgram seen) {
        nodes[index] = new Seen(seen, context);
      } else if (program instanceof PairEventsProgram pairs) {
        nodes[index] = new PairEvents(pairs, context);
      } else if (program instanceof StreamProgram.RollingProgram rolling) {
        nodes[index] = new Rolling(index, rolling, context);
      } else if (program instanceof DocumentProgram.RootProgram root) {
        nodes[index] = new Root(root, context);
      } else if (program instanceof DocumentProgram.FoldProgram fold) {
        nodes[index] = new Fold(index, fold, context);
      } else {
        throw new IllegalStateException(program.name() + " has no node in a level");
      }
    }
    return nodes[index];
  }

  /** Tells the time as a node begins a step. */
  long begin() {
    if (clock == null) {
      clock = new TaskClock();
    }
    return System.nanoTime();
  }

  /** Notes that a node took so long. */
  void spent(int index, long time) {
    nanos[index] += time;
  }

  /** Notes how many messages one of a task's addresses had, once for each address. */
  void heard(int index, byte[] address, long messages) {
    if (frequent[index] == null) {
      frequent[index] = new FrequentKeys();
    }
    frequent[index].offer(address, messages);
  }

  /**
   * Counts what each node took of the processor and which keys it heard most of, and starts again
   * from zero.
   */
  void tellCosts() {
    double part = clock == null ? 1 : clock.part();
    clock = null;
    for (int i = 0; i < nanos.length; i++) {
      if (nanos[i] > 0) {
        counters().add(Counters.NODES, Integer.toString(i), "nanos", Math.round(nanos[i] * part));
        nanos[i] = 0;
      }
      if (frequent[i] != null) {
        frequent[i].tell(Integer.toString(i), counters());
      }
    }
  }

  private Node group(int index, GroupProgram group) {
    if (group.session() != null) {
      return new Session(index, group, context);
    }
    return group.sliding() != null
        ? new Sliding(index, group, context)
        : new Group(index, group, context);
  }
}
