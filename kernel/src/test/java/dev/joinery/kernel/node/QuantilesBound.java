package dev.joinery.kernel.node;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;

/**
 * Prints how large buckets of quantiles are over many groups of many numbers, and how far off their
 * quantiles are at most beside the sorted numbers; run by hand.
 */
final class QuantilesBound {
  private static final double[] PARTS = {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};

  /** Distributions, from a uniform number between 0 and 1. */
  private static final DoubleUnaryOperator[] DRAWN = {
    each -> 100 * each,
    each -> -Math.log(1 - each) * 30,
    each -> Math.pow(1 - each, -1 / 1.2),
    each -> Math.exp(8 * Math.log(each / (1 - each + 1e-300) + 1e-9) / 4),
    each -> Math.rint(1000 * each * each),
    each -> 200 * (each - 0.3),
  };

  private record Found(int bytes, double error) {}

  private QuantilesBound() {}

  /** Takes how many groups, of how many numbers, at which relative error, in how many steps. */
  public static void main(String[] arguments) {
    int groups = Integer.parseInt(arguments[0]);
    int numbers = Integer.parseInt(arguments[1]);
    double error = Double.parseDouble(arguments[2]);
    long steps = Long.parseLong(arguments[3]);
    Found[] found = new Found[groups];
    IntStream.range(0, groups).parallel().forEach(i -> found[i] = measure(i, numbers, steps));
    long within = Arrays.stream(found).filter(each -> each.error() <= error).count();
    int[] bytes = Arrays.stream(found).mapToInt(Found::bytes).sorted().toArray();
    double worst = Arrays.stream(found).mapToDouble(Found::error).max().orElse(0);
    System.out.printf(
        "%d of %d groups of %d numbers within %s; at most %.5f; bytes: median %d, most %d%n",
        within, groups, numbers, error, worst, bytes[groups / 2], bytes[groups - 1]);
  }

  private static Found measure(int group, int numbers, long steps) {
    SplittableRandom random = new SplittableRandom(group);
    DoubleUnaryOperator drawn = DRAWN[group % DRAWN.length];
    Quantiles quantiles = new Quantiles(steps);
    double[] all = new double[numbers];
    for (int i = 0; i < numbers; i++) {
      all[i] = drawn.applyAsDouble(random.nextDouble());
      quantiles.add(all[i], 1);
    }
    Arrays.sort(all);
    double worst = 0;
    for (double part : PARTS) {
      double exact = all[(int) Math.max(1, Math.ceil(part * numbers)) - 1];
      double off = Math.abs(quantiles.at(part) - exact);
      worst = Math.max(worst, off == 0 ? 0 : off / Math.abs(exact));
    }
    return new Found(quantiles.toBytes().length, worst);
  }
}
