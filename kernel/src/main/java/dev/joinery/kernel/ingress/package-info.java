/**
 * Raw records and frames to messages for the first nodes.
 *
 * <p>Never remembers a row.
 */
package dev.joinery.kernel.ingress;
