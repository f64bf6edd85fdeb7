package dev.joinery.kernel.chain;

import org.apache.spark.broadcast.Broadcast;
import scala.reflect.ClassTag$;

/** A program that stays where it is, for a level without a Spark session: a broadcast to nobody. */
public final class HeldProgram extends Broadcast<SharedProgram> {
  private final transient SharedProgram program;

  public HeldProgram(SharedProgram program) {
    super(0, ClassTag$.MODULE$.apply(SharedProgram.class));
    this.program = program;
  }

  @Override
  public SharedProgram getValue() {
    return program;
  }

  @Override
  public void doUnpersist(boolean blocking) {}

  @Override
  public void doDestroy(boolean blocking) {}
}
