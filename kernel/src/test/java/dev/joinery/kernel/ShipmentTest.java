package dev.joinery.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.commons.lang3.SerializationUtils;
import org.junit.jupiter.api.Test;

final class ShipmentTest {
  private static Shipment shipment() {
    Tree[] roots = Shapes.all().get(0).roots().toArray(new Tree[0]);
    Program program = TreeProgram.of(true, roots);
    return Shipment.of(new Compiler(null).compile(program), new StateMark("format 1"));
  }

  @Test
  void aWorkshopThatWasGivenBackIsTheNextTasks() {
    Shipment shipment = shipment();
    Workshop workshop = shipment.take();

    shipment.giveBack(workshop);

    assertSame(workshop, shipment.take());
  }

  @Test
  void twoTasksAtATimeShareNothing() {
    Shipment shipment = shipment();

    assertNotSame(shipment.take(), shipment.take());
    assertNotSame(shipment.take().program(), shipment.take().program());
  }

  @Test
  void whatATaskCountedIsCollectedOnceAndByTheSameTask() {
    Shipment shipment = shipment();
    Counters counters = new Counters();
    counters.relation("user", "stale", 2);
    shipment.leave(7, counters);
    counters.relation("user", "stale", 3);
    shipment.leave(7, counters);

    Tally tally = new Tally();
    shipment.collect(8).drainTo(tally);
    assertTrue(tally.isZero());
    shipment.collect(7).drainTo(tally);
    shipment.collect(7).drainTo(tally);

    assertTrue(counters.isEmpty());
    assertEquals(Map.of(List.of("relations", "user", "stale"), 5L), tally.value());
  }

  @Test
  void aWorkerMakesItsOwnWorkshops() {
    Shipment shipment = shipment();
    Workshop workshop = shipment.take();
    shipment.giveBack(workshop);

    assertNotSame(workshop, SerializationUtils.clone(shipment).take());
  }
}
