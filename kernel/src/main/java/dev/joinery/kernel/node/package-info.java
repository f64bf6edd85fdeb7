/**
 * The nodes that make documents: each remembers something under its key and sends what it means.
 *
 * <p>Never knows the level it stands in, nor Spark's operators.
 */
package dev.joinery.kernel.node;
