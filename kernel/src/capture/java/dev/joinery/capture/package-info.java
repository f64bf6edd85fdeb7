/**
 * Follows a database's own log with Debezium's connector, and writes what it tells into change
 * files.
 *
 * <p>A process of its own, with its own class path: no jar of it is in Spark's. It knows Kafka
 * Connect's interface of a source task, and nothing of the kernel.
 */
package dev.joinery.capture;
