/**
 * Spark's own Kafka source, with batches as large as the backlog wants.
 *
 * <p>Never talks to Kafka itself: Spark's connector does.
 */
package dev.joinery.kernel.kafka;
