/**
 * Decodes the bytes of a source into rows and what is to be done with them.
 *
 * <p>Never knows a program, a node or a message.
 */
package dev.joinery.kernel.format;
