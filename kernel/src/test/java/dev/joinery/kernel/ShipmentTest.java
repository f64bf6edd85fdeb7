package dev.joinery.kernel;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.commons.lang3.SerializationUtils;
import org.junit.jupiter.api.Test;

final class ShipmentTest {
  private static Shipment shipment() {
    Tree[] roots = Shapes.all().get(0).roots().toArray(new Tree[0]);
    Program program = TreeProgram.of(true, roots);
    return Shipment.of(new Compiler(null).compile(program));
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
  void aWorkerMakesItsOwnWorkshops() {
    Shipment shipment = shipment();
    Workshop workshop = shipment.take();
    shipment.giveBack(workshop);

    assertNotSame(workshop, SerializationUtils.clone(shipment).take());
  }
}
