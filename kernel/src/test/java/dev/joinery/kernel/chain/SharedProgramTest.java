package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Tally;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import java.util.List;
import java.util.Map;
import org.apache.commons.lang3.SerializationUtils;
import org.junit.jupiter.api.Test;

final class SharedProgramTest {
  private static SharedProgram shared() {
    Tree[] roots = Shapes.all().get(0).roots().toArray(new Tree[0]);
    Program program = TreeProgram.of(true, roots);
    return SharedProgram.of(new Compiler(null).compile(program), new StateMark("format 1"));
  }

  @Test
  void nodesThatWereGivenBackAreTheNextTasks() {
    SharedProgram shared = shared();
    Nodes nodes = shared.take();

    shared.giveBack(nodes);

    assertSame(nodes, shared.take());
  }

  @Test
  void twoTasksAtATimeShareNothing() {
    SharedProgram shared = shared();

    assertNotSame(shared.take(), shared.take());
    assertNotSame(shared.take().program(), shared.take().program());
  }

  @Test
  void whatATaskCountedIsCollectedOnceAndByTheSameTask() {
    SharedProgram shared = shared();
    Counters counters = new Counters();
    counters.relation("user", "stale", 2);
    shared.leave(7, counters);
    counters.relation("user", "stale", 3);
    shared.leave(7, counters);

    Tally tally = new Tally();
    shared.collect(8).drainTo(tally);
    assertTrue(tally.isZero());
    shared.collect(7).drainTo(tally);
    shared.collect(7).drainTo(tally);

    assertTrue(counters.isEmpty());
    assertEquals(Map.of(List.of("relations", "user", "stale"), 5L), tally.value());
  }

  @Test
  void aWorkerMakesItsOwnNodes() {
    SharedProgram shared = shared();
    Nodes nodes = shared.take();
    shared.giveBack(nodes);

    assertNotSame(nodes, SerializationUtils.clone(shared).take());
  }
}
