package dev.joinery.kernel.door;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.node.RowCell;
import dev.joinery.kernel.node.Tracing;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.program.EmbedWays;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * Walks from the root's row of a document down to the rows that it is made of, an address at a
 * time: from a Fold by the keys of its children, to a ToOne, or to the children that a Fold only
 * counts, by what the row above joins on. Each row is a line, as a change that puts it ({@code
 * ChangeLines}).
 */
final class DocumentRows {
  /** What rows of a document cannot be read by point reads. */
  static final class UnreadException extends RuntimeException {
    UnreadException(String message) {
      super(message);
    }
  }

  /** Has the node of an address say what stands there. */
  interface State {
    /** {@code parent} is the key of one that is asked for with it, or null. */
    void trace(byte[] address, Slice parent, Tracing tracing);
  }

  /** What a node said. */
  private static final class Traced implements Tracing {
    private final Map<Integer, RowCell> cells = new HashMap<>();
    private final Map<Integer, List<Slice>> children = new HashMap<>();
    private Slice seen;

    @Override
    public void cell(int relation, RowCell cell) {
      cells.put(relation, cell);
    }

    @Override
    public void seen(int relation, Slice row) {
      seen = row.detach();
    }

    @Override
    public void below(int branch, Slice key) {
      children.computeIfAbsent(branch, each -> new ArrayList<>()).add(key.detach());
    }

    List<Slice> below(int branch) {
      return children.getOrDefault(branch, List.of());
    }
  }

  private final Program program;
  private final EmbedWays ways;
  private final NodeContext context;
  private final State state;
  private final JsonWriter[] rows;
  private final ByteSink lines = new ByteSink(4096);

  DocumentRows(Program program, NodeContext context, State state) {
    this.program = program;
    this.ways = new EmbedWays(program, Message.ROLE_PARENT);
    this.context = context;
    this.state = state;
    this.rows =
        program.relations().stream()
            .map(each -> new JsonWriter(each.decoded()))
            .toArray(JsonWriter[]::new);
  }

  /** The lines of the rows of a document, whose sender's address is given. */
  byte[] of(byte[] address) {
    lines.clear();
    placed(Address.nodeOf(address), Address.keyOf(address));
    return lines.toByteArray();
  }

  /** A row by its key, and those below it, at the node that places it where it is embedded. */
  private void placed(int node, Slice key) {
    Program.NodeProgram placer = node < 0 ? null : program.nodes().get(node);
    if (placer instanceof DocumentProgram.FoldProgram fold) {
      fold(node, fold, key);
    } else if (placer instanceof DocumentProgram.ToOneProgram one) {
      merged(node, one, key);
    } else if (placer instanceof DocumentProgram.RootProgram) {
      placed(ways.placerOf(node, 0), key);
    } else if (placer instanceof Program.RetractProgram leaf) {
      own(node, leaf.relation(), key, new Traced());
    } else if (placer instanceof Program.InsertsProgram leaf) {
      throw unkept(leaf.relation());
    } else {
      throw new UnreadException("the rows that another product sends");
    }
  }

  private void fold(int node, DocumentProgram.FoldProgram fold, Slice key) {
    Traced here = traced(node, key.toBytes(), null);
    int home = ways.retractOf(fold.relation(), node);
    Slice row = own(home, fold.relation(), key, here);
    for (int i = 0; row != null && i < fold.branches().size(); i++) {
      DocumentProgram.BranchProgram branch = fold.branches().get(i);
      int one = ways.lookupOf(node, i);
      EmbedWays.ArmPlace arm = ways.armOf(node, i);
      if (one >= 0) {
        below(one, fold.relation(), row);
      } else if (branch.fused() && branch.within() == null) {
        placed(ways.placerOf(node, i), here.below(i));
      } else if (arm == null) {
        throw new UnreadException("the rows of " + fold.name() + "/" + branch.name());
      } else {
        boolean told = branch.shape() != DocumentProgram.Shape.NONE;
        int placer = ways.placerOf(arm.match(), arm.arm());
        placed(placer, told ? here.below(i) : counted(arm, fold.relation(), row));
      }
    }
  }

  private void placed(int node, List<Slice> keys) {
    keys.forEach(each -> placed(node, each));
  }

  /** The keys of rows of which a Fold has only totals or aggregates: all that a Match has. */
  private List<Slice> counted(EmbedWays.ArmPlace arm, int above, Slice row) {
    byte[] key = addressOf(above, arm.match(), row);
    return key == null ? List.of() : traced(arm.match(), key, null).below(arm.arm());
  }

  /** A row that a ToOne assembles in place. */
  private void merged(int node, DocumentProgram.ToOneProgram one, Slice key) {
    int relation = one.merge().relation();
    int home = ways.retractOf(relation, node);
    Traced here = new Traced();
    if (one.parentRelation() >= 0) {
      here = traced(node, addressOfKey(relation, node, key), key);
    } else if (home < 0) { // A log's: kept under what they join on alone.
      throw unkept(relation);
    }
    Slice row = own(home, relation, key, here);
    if (row != null) {
      below(node, relation, row);
    }
  }

  /** The row that a ToOne has for one above it. */
  private void below(int node, int above, Slice row) {
    DocumentProgram.ToOneProgram one = (DocumentProgram.ToOneProgram) program.nodes().get(node);
    byte[] key = addressOf(above, node, row);
    if (key == null) {
      return;
    }
    Traced here = traced(node, key, null);
    if (one.childRelation() >= 0) {
      tell(one.childRelation(), here.cells.get(one.childRelation()));
    } else if (!here.below(0).isEmpty()) {
      int placer = ways.placerOf(node, 0);
      checkCode(ways.relationOf(placer), ways.joinOf(above, node).types());
      placed(placer, Slice.of(key));
    }
  }

  /**
   * Tells a row of a relation, from the Retract that keeps it, or {@code here} where that is -1;
   * returns it as products see it, or null.
   */
  private Slice own(int home, int relation, Slice key, Traced here) {
    Traced found = home < 0 ? here : traced(home, key.toBytes(), null);
    if (found.cells.containsKey(relation)) {
      return tell(relation, found.cells.get(relation));
    }
    if (found.seen != null) {
      write(relation, "null,0,0", found.seen, seenType(relation).length());
    } else if (lines.size() > 0) { // A root may be missing; a child is not named where it is none.
      throw unkept(relation);
    }
    return found.seen;
  }

  private Slice tell(int relation, RowCell cell) {
    if (cell == null) {
      return null;
    }
    String position = cell.hasPosition() ? Long.toString(cell.position) : "null";
    String place = position + "," + cell.major() + "," + cell.minor();
    write(relation, place, cell.row, program.relations().get(relation).columns().size());
    Slice seen = context.rows(relation).view(cell);
    return seen == null ? null : seen.detach();
  }

  /** A row that products see begins with the columns that are decoded. */
  private void write(int relation, String place, Slice row, int columns) {
    String head = "[" + relation + "," + Message.OP_UPSERT + "," + place + ",null,";
    lines.append(head.getBytes(StandardCharsets.US_ASCII));
    rows[relation].write(BinaryRow.of(row, columns), lines);
    lines.append(']');
    lines.append('\n');
  }

  private Traced traced(int node, byte[] key, Slice parent) {
    Traced found = new Traced();
    state.trace(Address.of(node, key), parent, found);
    return found;
  }

  /** Under which key a ToOne or a Match has what a row joins; null where the row joins nothing. */
  private byte[] addressOf(int relation, int node, Slice row) {
    StructType type = seenType(relation);
    KeyCodec codec = ways.joinOf(relation, node).codec(NodeContext.slotsOf(type));
    UnsafeRow seen = BinaryRow.of(row, type.length());
    return codec.anyNull(seen) ? null : codec.encode(seen);
  }

  /** The same for one whose key has all columns that it joins on. */
  private byte[] addressOfKey(int relation, int node, Slice key) {
    Program.RelationProgram rows = program.relations().get(relation);
    Object[] values = RelationRows.keyOf(rows).decode(key);
    GenericInternalRow row = new GenericInternalRow(rows.columns().size());
    for (int i = 0; i < values.length; i++) {
      row.update(rows.key()[i], values[i]);
    }
    return ways.joinOf(relation, node).codec(rows.columns()).encode(row);
  }

  /** Refuses what is joined as other types than those of the key: its codes are no keys. */
  private void checkCode(int relation, DataType[] types) {
    if (relation < 0) {
      return; // Of rows that another product sends, which are refused as such.
    }
    Program.RelationProgram rows = program.relations().get(relation);
    for (int i = 0; i < types.length; i++) {
      if (!KeyCodec.isOneCode(rows.columns().get(rows.key()[i]).type(), types[i])) {
        String as = types[i].sql();
        throw new UnreadException("the rows of " + rows.name() + " (joined as " + as + ")");
      }
    }
  }

  private StructType seenType(int relation) {
    return program.assemblers().get(program.relations().get(relation).assembler()).type();
  }

  private UnreadException unkept(int relation) {
    String name = program.relations().get(relation).name();
    return new UnreadException("the rows of " + name + " (the state has them in documents alone)");
  }
}
