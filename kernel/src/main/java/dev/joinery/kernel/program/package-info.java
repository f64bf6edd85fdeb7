/**
 * A lowered plan as the planner sends it, and its expressions compiled by Spark.
 *
 * <p>Never runs anything but the compiler.
 */
package dev.joinery.kernel.program;
