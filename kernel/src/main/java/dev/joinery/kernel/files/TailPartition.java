package dev.joinery.kernel.files;

import java.util.ArrayList;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * A topic that one task follows in real time.
 *
 * @param number the topic's
 * @param files the folder of its complete files
 * @param tail the folder of the one that is being written
 * @param slices what is left of the files that are complete, in order
 * @param last the name of the last of all those; empty for none
 * @param label that one's
 * @param begun how far the file was read that is being written; null for none
 */
record TailPartition(
    int number,
    String topic,
    String files,
    String tail,
    ArrayList<FileSlice> slices,
    String last,
    long label,
    TailPartition.Begun begun)
    implements InputPartition {
  /** After a number of lines and bytes of a file. */
  record Begun(String file, long line, long offset) implements java.io.Serializable {}
}
