package dev.joinery.kernel.ingress;

import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.program.EventFoldProgram;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.HistoryProgram;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SearchProgram;

/**
 * The node that gives sinks the documents of a product.
 *
 * @param columns how many of the columns of a document's key make its address; none where addresses
 *     are made otherwise
 */
record Sender(int node, int columns) {
  static int productOf(Program program, String name) {
    for (int i = 0; i < program.products().size(); i++) {
      if (program.products().get(i).name().equals(name)) {
        return i;
      }
    }
    throw new IllegalArgumentException("no product \"" + name + "\"");
  }

  static Sender of(Program program, int product) {
    for (int i = 0; i < program.nodes().size(); i++) {
      Program.NodeProgram node = program.nodes().get(i);
      if (sends(node, product)) {
        return new Sender(i, columnsOf(node, program.products().get(product).key().length()));
      }
    }
    throw new IllegalArgumentException("no node sends product " + product);
  }

  private static boolean sends(Program.NodeProgram node, int product) {
    return node instanceof DocumentProgram.FoldProgram fold && fold.product() == product
        || node instanceof DocumentProgram.RootProgram root && root.product() == product
        || node instanceof GroupProgram group && group.product() == product
        || node instanceof PatternProgram pattern && pattern.product() == product
        || node instanceof SearchProgram search && search.product() == product
        || node instanceof HistoryProgram history && history.product() == product
        || node instanceof EventFoldProgram events && events.product() == product;
  }

  /** Of a key whose last columns may be times that are not in the address. */
  private static int columnsOf(Program.NodeProgram node, int columns) {
    if (node instanceof SearchProgram) {
      return 0;
    }
    if (node instanceof PatternProgram pattern) {
      return pattern.by();
    }
    if (node instanceof HistoryProgram history) {
      return columns - (history.known() == null ? 1 : 2);
    }
    return node instanceof GroupProgram group && group.session() != null ? columns - 1 : columns;
  }
}
