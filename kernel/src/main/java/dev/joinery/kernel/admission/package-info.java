/**
 * How much of a source one batch takes.
 *
 * <p>Never decides what becomes of a record: documents are the same whatever the batches.
 */
package dev.joinery.kernel.admission;
