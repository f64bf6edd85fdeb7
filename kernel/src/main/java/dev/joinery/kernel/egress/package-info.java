/**
 * What leaves the chain: staged as files of JSON lines, or sent as records of Kafka.
 *
 * <p>Never alters a document.
 */
package dev.joinery.kernel.egress;
