package dev.joinery.kernel.program;

import java.io.Serializable;

/**
 * How long rows are kept after their times.
 *
 * @param logs the relations by the least of whose watermarks they are forgotten
 * @param micros those of the node itself: a Retract's, a Fold's own, an Interval's parents
 * @param childMicros their children; 0 where the node keeps none
 */
public record KeptProgram(int[] logs, long micros, long childMicros) implements Serializable {}
