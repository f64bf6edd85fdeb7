/**
 * What leans on Spark's insides: encoders, settings, and objects that its generated code calls.
 *
 * <p>Never knows a node.
 */
package dev.joinery.kernel.spark;
