package dev.joinery.kernel.spark;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.ObjectType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * The rows of one task, each a message and its address.
 *
 * @param rows as the shuffle gives them; one row, which is another at each step
 */
public record TaskRows(scala.collection.Iterator<InternalRow> rows) {
  private static final byte[] NO_ADDRESS = {};

  /** The column in which an operator finds them. */
  static Attribute column() {
    return new AttributeReference(
        "rows",
        new ObjectType(Object.class),
        false,
        Metadata.empty(),
        NamedExpression$.MODULE$.newExprId(),
        CollectionConverters.asScala(List.<String>of()).toSeq());
  }

  /** One row, that holds all rows of a partition; none where there are none. */
  public static final class Exec extends OperatorOverOne {
    private final SparkPlan child;
    private final Attribute rows;
    private final Attribute address;

    /** Public for Spark, which copies nodes by their constructor. */
    public Exec(SparkPlan child, Attribute rows, Attribute address) {
      this.child = child;
      this.rows = rows;
      this.address = address;
    }

    @Override
    public RDD<InternalRow> doExecute() {
      return LocalExchange.of(child)
          .mapPartitionsInternal(new Together(), true, ClassTag$.MODULE$.apply(InternalRow.class));
    }

    @Override
    public SparkPlan child() {
      return child;
    }

    @Override
    public Seq<Attribute> output() {
      return seq(List.of(rows, address));
    }

    /** One row is sorted by whatever one likes. */
    @Override
    public Seq<SortOrder> outputOrdering() {
      return seq(
          List.of(
              new SortOrder(
                  address, Ascending$.MODULE$, NullsFirst$.MODULE$, seq(List.<Expression>of()))));
    }

    @Override
    protected List<?> parts() {
      return List.of(child, rows, address);
    }

    @Override
    protected SparkPlan over(SparkPlan other) {
      return new Exec(other, rows, address);
    }
  }

  private static final class Together
      extends AbstractFunction1<
          scala.collection.Iterator<InternalRow>, scala.collection.Iterator<InternalRow>>
      implements java.io.Serializable {
    @Override
    public scala.collection.Iterator<InternalRow> apply(
        scala.collection.Iterator<InternalRow> rows) {
      Iterator<InternalRow> all =
          rows.hasNext()
              ? List.<InternalRow>of(
                      new GenericInternalRow(new Object[] {new TaskRows(rows), NO_ADDRESS}))
                  .iterator()
              : List.<InternalRow>of().iterator();
      return CollectionConverters.asScala(all);
    }
  }
}
