package dev.joinery.kernel.files;

/**
 * A file the source has seen, as it was then; files are complete once their name is there.
 *
 * @param number its place in the order in which the topic's files were seen
 * @param label orders a topic's files as their names do, in bytes
 */
record KnownFile(String topic, int number, String name, long label, long size) {}
