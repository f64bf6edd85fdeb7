/**
 * Values as JSON text, as sinks and dead letters show them.
 *
 * <p>Never knows where a value comes from.
 */
package dev.joinery.kernel.render;
