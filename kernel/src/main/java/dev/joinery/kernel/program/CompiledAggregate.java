package dev.joinery.kernel.program;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;

/** A compiled aggregate over children's rows; {@code argument} null counts rows. */
public record CompiledAggregate(String function, Expression argument, Expression filter, DataType type)
    implements Serializable {}
