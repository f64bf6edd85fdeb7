/**
 * Stored queries: conditions that are data, read on the workers, and which of them may be true of a
 * row.
 *
 * <p>Never knows where queries are kept, nor what is sent where one matches.
 */
package dev.joinery.kernel.search;
