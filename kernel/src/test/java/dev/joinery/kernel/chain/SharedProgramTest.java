package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import java.util.List;
import org.apache.commons.lang3.SerializationUtils;
import org.junit.jupiter.api.Test;

final class SharedProgramTest {
  private static SharedProgram shared() {
    Tree[] roots = Shapes.all().get(0).roots().toArray(new Tree[0]);
    Program program = TreeProgram.of(true, roots);
    return SharedProgram.of(new Compiler(null).compile(program), new StateMark("format 1", List.of()));
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
  void theProgramIsThatOfTheNextTasksNodes() {
    SharedProgram shared = shared();
    Program program = shared.program();

    assertSame(program, shared.program());
    assertSame(program, shared.take().program());
  }

  @Test
  void whatATaskCountedIsCollectedOnceAndByTheSameTask() {
    SharedProgram shared = shared();
    Counters counters = new Counters();
    counters.relation("user", "stale", 2);
    shared.leave(7, counters);
    counters.relation("user", "stale", 3);
    shared.leave(7, counters);

    Counters all = new Counters();
    shared.collect(8).drainTo(all);
    assertTrue(all.isEmpty());
    shared.collect(7).drainTo(all);
    shared.collect(7).drainTo(all);

    assertTrue(counters.isEmpty());
    assertEquals("{\"relations\":{\"user\":{\"stale\":5}}}", all.toJson());
  }

  @Test
  void aWorkerMakesItsOwnNodes() {
    SharedProgram shared = shared();
    Nodes nodes = shared.take();
    shared.giveBack(nodes);

    assertNotSame(nodes, SerializationUtils.clone(shared).take());
  }
}
