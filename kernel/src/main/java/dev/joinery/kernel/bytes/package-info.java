/**
 * Slices, buffers, hashes, binary rows, and the keys and addresses made of them.
 *
 * <p>Never knows what the bytes mean.
 */
package dev.joinery.kernel.bytes;
