/**
 * Spark's own Kafka source, with batches as large as the backlog wants; and topics read without
 * Spark, from one offset to another.
 *
 * <p>Never commits an offset. The source never talks to Kafka itself: Spark's connector does.
 */
package dev.joinery.kernel.kafka;
