package dev.joinery.kernel.bytes;

import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.DataType;
import scala.Function0;

/**
 * The types that texts name, whatever the session that is active has set: under
 * `spark.sql.timestampType` a "timestamp" would else be one without a zone.
 */
public final class TypeText {
  private TypeText() {}

  /** Returns the type that a text in Spark's DDL names. */
  public static DataType read(String text) {
    Function0<DataType> reading = () -> DataType.fromDDL(text);
    return SQLConf$.MODULE$.withExistingConf(new SQLConf(), reading);
  }
}
