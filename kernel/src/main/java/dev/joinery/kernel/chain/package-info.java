/**
 * The levels of a program as Spark's operators, and the program as it travels to the workers.
 *
 * <p>Never interprets a message that is not for one of its nodes.
 */
package dev.joinery.kernel.chain;
