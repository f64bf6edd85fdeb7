/**
 * What stands under one address: maps that stay cheap when they grow, and notes of what is to be
 * forgotten.
 *
 * <p>Never knows what an entry means, nor Spark.
 */
package dev.joinery.kernel.state;
