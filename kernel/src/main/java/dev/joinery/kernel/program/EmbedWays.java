package dev.joinery.kernel.program;

import dev.joinery.kernel.program.DocumentProgram.FoldProgram;
import dev.joinery.kernel.program.DocumentProgram.MatchProgram;
import dev.joinery.kernel.program.DocumentProgram.ToOneProgram;
import dev.joinery.kernel.program.DocumentProgram.Upward;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** The ways of rows into documents, looked at from above: which node fills what. */
public record EmbedWays(Program program, int parentRole) {
  /** The Retract that keeps the rows that a node is told of a relation; -1 where none does. */
  public int retractOf(int relation, int target) {
    return first(
        each ->
            each instanceof Program.RetractProgram retract
                && retract.relation() == relation
                && retract.uses().stream().anyMatch(use -> use.target() == target));
  }

  /** The ToOne that fills a Fold's branch; -1 where none does. */
  public int lookupOf(int fold, int branch) {
    return first(
        each ->
            each instanceof ToOneProgram one
                && one.merge() == null
                && one.fold() == fold
                && one.branch() == branch);
  }

  /** An arm of a Match, by their numbers. */
  public record ArmPlace(int match, int arm) {}

  /** The arm that fills a Fold's branch; null where none does. */
  public ArmPlace armOf(int fold, int branch) {
    for (int i = 0; i < program.nodes().size(); i++) {
      if (program.nodes().get(i) instanceof MatchProgram match && match.fold() == fold) {
        for (int arm = 0; arm < match.arms().size(); arm++) {
          if (match.arms().get(arm).branch() == branch) {
            return new ArmPlace(i, arm);
          }
        }
      }
    }
    return null;
  }

  /** The node that places rows in a branch, or an arm, of another; -1 for none. */
  public int placerOf(int target, int branch) {
    return first(
        each ->
            upwards(each)
                .anyMatch(upward -> upward.target() == target && upward.branch() == branch));
  }

  private static Stream<Upward> upwards(Program.NodeProgram node) {
    if (node instanceof FoldProgram fold) {
      return Stream.ofNullable(fold.upward());
    }
    if (node instanceof ToOneProgram one) {
      return Stream.ofNullable(one.merge()).map(DocumentProgram.Merge::upward);
    }
    return usesOf(node)
        .filter(Program.ChildUse.class::isInstance)
        .map(each -> ((Program.ChildUse) each).upward());
  }

  private static Stream<Program.Use> usesOf(Program.NodeProgram node) {
    if (node instanceof Program.RetractProgram retract) {
      return retract.uses().stream();
    }
    return node instanceof Program.InsertsProgram inserts
        ? inserts.uses().stream()
        : Stream.empty();
  }

  /** The relation whose rows a node has or assembles; -1 where it is another's. */
  public int relationOf(int node) {
    Program.NodeProgram found = program.nodes().get(node);
    if (found instanceof FoldProgram fold) {
      return fold.relation();
    }
    if (found instanceof ToOneProgram one) {
      return one.merge() == null ? -1 : one.merge().relation();
    }
    if (found instanceof Program.RetractProgram retract) {
      return retract.relation();
    }
    return found instanceof Program.InsertsProgram inserts ? inserts.relation() : -1;
  }

  /** What rows of a relation join on at a ToOne or a Match. */
  public Program.Address joinOf(int relation, int node) {
    List<Program.NodeProgram> nodes = program.nodes();
    Stream<Program.Address> told =
        nodes.stream()
            .filter(
                each ->
                    each instanceof Program.RetractProgram retract
                            && retract.relation() == relation
                        || each instanceof Program.InsertsProgram inserts
                            && inserts.relation() == relation)
            .flatMap(EmbedWays::usesOf)
            .filter(each -> each instanceof Program.ParentUse && each.target() == node)
            .map(each -> ((Program.ParentUse) each).address());
    Stream<Program.Address> raw =
        program.routes().stream()
            .filter(each -> each.relation() == relation && each.node() == node)
            .filter(each -> (each.role() & parentRole) != 0)
            .map(Program.Route::address);
    return Stream.concat(told, raw).findFirst().orElseThrow();
  }

  private int first(Predicate<Program.NodeProgram> test) {
    for (int i = 0; i < program.nodes().size(); i++) {
      if (test.test(program.nodes().get(i))) {
        return i;
      }
    }
    return -1;
  }
}
