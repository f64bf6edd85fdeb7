/**
 * The nodes that make events: lookups, temporal joins, what they remember and what follows on them.
 *
 * <p>Never asks a store; answers are given to them.
 */
package dev.joinery.kernel.stream;
