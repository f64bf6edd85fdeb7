/**
 * The source that reads folders of change files, as Spark asks for it.
 *
 * <p>Never decodes a record.
 */
package dev.joinery.kernel.files;
