package dev.joinery.kernel.chain;

/** Tells how many random histories a test takes: some in make test, more in make exhaustive. */
final class Seeds {
  private static final int TIMES = Integer.getInteger("seeds.times", 1);

  private Seeds() {}

  /** Returns {@code some}, or as many times that as {@code -Dseeds.times} says. */
  static int of(int some) {
    return some * TIMES;
  }
}
