package dev.joinery.kernel.search;

import org.apache.spark.sql.catalyst.InternalRow;

/** A stored text query over the columns of a row. */
public final class TextCondition implements Condition {
  private final TextColumns columns;
  private final TextQuery query;

  TextCondition(TextColumns columns, TextQuery query) {
    this.columns = columns;
    this.query = query;
  }

  TextQuery query() {
    return query;
  }

  @Override
  public Verdict of(InternalRow row) {
    return of(new TextRow(columns, row));
  }

  Verdict of(TextRow row) {
    return query.holds(row) ? Verdict.HOLDS : Verdict.DOES_NOT;
  }
}
