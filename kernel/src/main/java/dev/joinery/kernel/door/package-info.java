/**
 * What Python calls: a class a way of running, each public and small.
 *
 * <p>Never knows what a node remembers.
 */
package dev.joinery.kernel.door;
