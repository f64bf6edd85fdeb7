package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.program.Program;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Lowers trees to a program, by the rules of the planner, so that nodes run without Python. */
public final class TreeProgram {
  private static final int NONE = -1;
  private static final long WEEK = 7L * 24 * 3600 * 1_000_000;

  private static final class Uses {
    private final Table table;
    private final int index;
    private final List<Program.Use> uses = new ArrayList<>();

    Uses(Table table, int index) {
      this.table = table;
      this.index = index;
    }
  }

  private final boolean elide;
  private final List<Program.NodeProgram> nodes = new ArrayList<>();
  private final List<Program.AssemblerProgram> assemblers = new ArrayList<>();
  private final List<Program.ProductProgram> products = new ArrayList<>();
  private final Map<String, Uses> tables = new LinkedHashMap<>();
  private final Map<String, Integer> matches = new HashMap<>();

  private TreeProgram(boolean elide) {
    this.elide = elide;
  }

  /** {@code elide}: leave out a Retract, and share a Match, wherever the planner would. */
  public static Program of(boolean elide, Tree... roots) {
    TreeProgram lowering = new TreeProgram(elide);
    for (Tree root : roots) {
      lowering.collect(root);
    }
    for (Tree root : roots) {
      Table table = root.table();
      StructType key =
          new StructType(Arrays.copyOf(table.type().fields(), table.keyColumns()));
      lowering.products.add(new Program.ProductProgram(root.name(), key, root.output()));
      lowering.root(root, lowering.products.size() - 1);
    }
    return lowering.finish();
  }

  /** The same program with another limit of a document's bytes. */
  static Program limited(Program program, long maxDocumentBytes) {
    return new Program(
        program.levels(),
        program.relations(),
        program.nodes(),
        program.assemblers(),
        program.products(),
        program.routes(),
        program.entries(),
        program.tombstoneRetentionMicros(),
        maxDocumentBytes,
        List.of(),
        null);
  }

  private void collect(Tree tree) {
    Table table = tree.table();
    if (!tables.containsKey(table.name())) {
      tables.put(table.name(), new Uses(table, tables.size()));
      Tree view = Tree.root(table.name(), table);
      Program.Sql where = table.where() == null ? null : view.column(table.where());
      assemblers.add(assembler(view, table.name(), where));
    }
    tree.embeds().forEach(this::collect);
  }

  private static Program.AssemblerProgram assembler(Tree tree, String path, Program.Sql where) {
    List<Program.Slot> inputs = new ArrayList<>();
    tree.embeds().forEach(embed -> inputs.addAll(embed.inputs()));
    List<Program.OrderColumn> order =
        tree.order() == null
            ? List.of()
            : List.of(new Program.OrderColumn(tree.column(tree.order()), tree.descending()));
    return new Program.AssemblerProgram(
        path,
        tree.table().slots(),
        inputs,
        List.of(),
        where,
        order,
        IntStream.range(0, tree.table().type().length() + inputs.size()).toArray(),
        tree.output());
  }

  private int assemblerOf(Tree tree, String path) {
    Program.Sql where = tree.where() == null ? null : tree.column(tree.where());
    assemblers.add(assembler(tree, path, where));
    return assemblers.size() - 1;
  }

  /** As the planner does for rows that only come; here rows may change, and have a Retract. */
  private void root(Tree tree, int product) {
    Tree lone = tree.embeds().size() == 1 ? tree.embeds().get(0) : null;
    if (!elide || lone == null || !isLookup(lone) || isFusible(tree, lone)) {
      fold(tree, null, product, tree.name());
      return;
    }
    int index = reserve();
    Uses uses = tables.get(tree.table().name());
    nodes.set(index, new DocumentProgram.RootProgram(
            tree.name(), 0, uses.index, product, null, List.of(), null));
    DocumentProgram.Upward upward =
        new DocumentProgram.Upward(index, 0, keyAddress(tree.table()));
    DocumentProgram.Merge merge =
        new DocumentProgram.Merge(assemblerOf(tree, tree.name()), uses.index, upward);
    lookup(tree, lone, NONE, 0, merge, tree.name() + "/" + lone.name());
  }

  private void fold(Tree tree, DocumentProgram.Upward upward, int product, String path) {
    int index = reserve();
    List<DocumentProgram.BranchProgram> branches = new ArrayList<>();
    for (Tree embed : tree.embeds()) {
      branches.add(edge(tree, embed, index, branches.size(), path + "/" + embed.name()));
    }
    Uses uses = tables.get(tree.table().name());
    nodes.set(
        index,
        new DocumentProgram.FoldProgram(
            path, 0, uses.index, false, branches, assemblerOf(tree, path), product, upward, null));
    uses.uses.add(new Program.OwnUse(index, null));
  }

  private DocumentProgram.BranchProgram edge(
      Tree tree, Tree embed, int fold, int branch, String path) {
    boolean fused = isFusible(tree, embed);
    if (fused) {
      List<String> columns = new ArrayList<>();
      for (int i = 0; i < tree.table().keyColumns(); i++) {
        String parent = tree.table().type().fields()[i].name();
        columns.add(embed.childColumns().get(embed.parentColumns().indexOf(parent)));
      }
      Program.Address address = address(embed.table(), columns);
      child(embed, new DocumentProgram.Upward(fold, branch, address), path);
    } else if (isLookup(embed)) {
      lookup(tree, embed, fold, branch, null, path);
    } else {
      match(tree, embed, fold, branch, path);
    }
    return new DocumentProgram.BranchProgram(
        embed.name(),
        embed.many() ? DocumentProgram.Shape.LIST : DocumentProgram.Shape.ONE,
        embed.output(),
        fused,
        new DataType[0],
        embed.hasTotal(),
        0,
        embed.aggregatePrograms(),
        null,
        null,
        null,
        null);
  }

  private void lookup(
      Tree tree, Tree embed, int fold, int branch, DocumentProgram.Merge merge, String path) {
    int index = reserve();
    List<String> parentColumns = new ArrayList<>();
    List<String> childColumns = new ArrayList<>();
    for (int i = 0; i < embed.table().keyColumns(); i++) {
      String key = embed.table().type().fields()[i].name();
      childColumns.add(key);
      parentColumns.add(embed.parentColumns().get(embed.childColumns().indexOf(key)));
    }
    nodes.set(
        index,
        new DocumentProgram.ToOneProgram(
            path, 0, NONE, 0, embed.output(), NONE, fold, branch, merge));
    tables
        .get(tree.table().name())
        .uses
        .add(
            new Program.ParentUse(
                index,
                address(tree.table(), parentColumns),
                fold,
                new int[] {branch},
                merge != null,
                null));
    child(embed, new DocumentProgram.Upward(index, 0, address(embed.table(), childColumns)), path);
  }

  private void match(Tree tree, Tree embed, int fold, int branch, String path) {
    DocumentProgram.ArmProgram arm =
        new DocumentProgram.ArmProgram(
            path,
            embed.output(),
            embed.limit(),
            !embed.many(),
            true,
            embed.hasTotal(),
            embed.aggregatePrograms(),
            branch);
    String place = fold + " by " + embed.parentColumns();
    boolean shared = elide && matches.containsKey(place);
    int index = shared ? matches.get(place) : reserve();
    matches.put(place, index);
    List<DocumentProgram.ArmProgram> arms = new ArrayList<>();
    if (shared) {
      arms.addAll(((DocumentProgram.MatchProgram) nodes.get(index)).arms());
    }
    arms.add(arm);
    nodes.set(index, new DocumentProgram.MatchProgram(path, 0, arms, fold));
    announce(tree, embed, index, arms, fold);
    child(
        embed,
        new DocumentProgram.Upward(
            index, arms.size() - 1, address(embed.table(), embed.childColumns())),
        path);
  }

  private void announce(
      Tree tree, Tree embed, int match, List<DocumentProgram.ArmProgram> arms, int fold) {
    List<Program.Use> uses = tables.get(tree.table().name()).uses;
    uses.removeIf(use -> use instanceof Program.ParentUse parent && parent.target() == match);
    int[] branches = arms.stream().mapToInt(DocumentProgram.ArmProgram::branch).toArray();
    Program.Address parents = address(tree.table(), embed.parentColumns());
    uses.add(new Program.ParentUse(match, parents, fold, branches, false, null));
  }

  private void child(Tree embed, DocumentProgram.Upward upward, String path) {
    Uses uses = tables.get(embed.table().name());
    if (embed.embeds().isEmpty()) {
      uses.uses.add(new Program.ChildUse(assemblerOf(embed, path), upward));
    } else if (embed.embeds().size() == 1 && isLookup(embed.embeds().get(0))) {
      Tree lone = embed.embeds().get(0);
      DocumentProgram.Merge merge =
          new DocumentProgram.Merge(assemblerOf(embed, path), uses.index, upward);
      lookup(embed, lone, NONE, 0, merge, path + "/" + lone.name());
    } else {
      fold(embed, upward, NONE, path);
    }
  }

  private static Program.Address address(Table table, List<String> columns) {
    int[] ordinals = columns.stream().mapToInt(table::ordinal).toArray();
    DataType[] types =
        Arrays.stream(ordinals)
            .mapToObj(each -> table.type().fields()[each].dataType())
            .toArray(DataType[]::new);
    return new Program.Address(ordinals, types);
  }

  private static boolean isLookup(Tree embed) {
    return !embed.many() && keysOf(embed.table()).equals(new HashSet<>(embed.childColumns()));
  }

  private static boolean isFusible(Tree tree, Tree embed) {
    return keysOf(tree.table()).equals(new HashSet<>(embed.parentColumns()))
        && embed.aggregates().isEmpty()
        && (embed.many() ? embed.limit() == 0 : isLookup(embed));
  }

  private static Set<String> keysOf(Table table) {
    Set<String> keys = new HashSet<>();
    for (int i = 0; i < table.keyColumns(); i++) {
      keys.add(table.type().fields()[i].name());
    }
    return keys;
  }

  private int reserve() {
    nodes.add(null);
    return nodes.size() - 1;
  }

  private Program finish() {
    List<Program.Route> routes = new ArrayList<>();
    for (Uses uses : tables.values()) {
      if (elide && uses.uses.stream().allMatch(use -> isRaw(use, uses.table))) {
        routes.addAll(rawRoutes(uses));
      } else {
        nodes.add(new Program.RetractProgram(uses.table.name(), 0, uses.index, uses.uses, null, null));
        routes.add(
            new Program.Route(
                uses.index, nodes.size() - 1, Message.ROLE_PRIMARY, keyAddress(uses.table)));
      }
    }
    int levels = setLevels();
    // Views are the first assemblers, in the order of the relations.
    List<Program.RelationProgram> relations = new ArrayList<>();
    for (Uses uses : tables.values()) {
      Table table = uses.table;
      relations.add(
          new Program.RelationProgram(table.name(), table.slots(), table.key(), uses.index, null, null, null, null));
    }
    return new Program(
        levels, relations, nodes, assemblers, products, routes, List.of(), WEEK, 16 << 20,
        List.of(),
        null);
  }

  private static Program.Address keyAddress(Table table) {
    return address(
        table,
        Arrays.stream(table.key()).mapToObj(each -> table.type().fields()[each].name()).toList());
  }

  private boolean isRaw(Program.Use use, Table table) {
    if (use instanceof Program.OwnUse) {
      return true;
    }
    if (use instanceof Program.ChildUse child) {
      return nodes.get(child.upward().target()) instanceof DocumentProgram.ToOneProgram;
    }
    Program.ParentUse parent = (Program.ParentUse) use;
    return nodes.get(parent.target()) instanceof DocumentProgram.ToOneProgram lookup
        && lookup.merge() != null
        && isOfKey(parent.address(), table)
        && isOfKey(lookup.merge().upward().address(), table);
  }

  private static boolean isOfKey(Program.Address address, Table table) {
    return Arrays.stream(address.ordinals()).allMatch(each -> each < table.keyColumns());
  }

  private List<Program.Route> rawRoutes(Uses uses) {
    List<Program.Route> routes = new ArrayList<>();
    for (Program.Use use : uses.uses) {
      int role = routes.isEmpty() ? Message.ROLE_PRIMARY : 0;
      if (use instanceof Program.OwnUse own) {
        DocumentProgram.FoldProgram at = (DocumentProgram.FoldProgram) nodes.get(own.target());
        nodes.set(
            own.target(),
            new DocumentProgram.FoldProgram(
                at.name(), 0, at.relation(), true, at.branches(), at.assembler(), at.product(),
                at.upward(), null));
        routes.add(new Program.Route(uses.index, own.target(), role, keyAddress(uses.table)));
      } else if (use instanceof Program.ChildUse child) {
        int target = child.upward().target();
        DocumentProgram.ToOneProgram at = (DocumentProgram.ToOneProgram) nodes.get(target);
        nodes.set(
            target,
            new DocumentProgram.ToOneProgram(
                at.name(), 0, uses.index, child.assembler(), at.childType(), at.parentRelation(),
                at.fold(), at.branch(), at.merge()));
        routes.add(new Program.Route(uses.index, target, role, child.upward().address()));
      } else {
        Program.ParentUse parent = (Program.ParentUse) use;
        DocumentProgram.ToOneProgram at = (DocumentProgram.ToOneProgram) nodes.get(parent.target());
        nodes.set(
            parent.target(),
            new DocumentProgram.ToOneProgram(
                at.name(), 0, at.childRelation(), at.childAssembler(), at.childType(), uses.index,
                at.fold(), at.branch(), at.merge()));
        routes.add(
            new Program.Route(
                uses.index, parent.target(), role | Message.ROLE_PARENT, parent.address()));
      }
    }
    return routes;
  }

  private int setLevels() {
    int deepest = 0;
    int[] depths = new int[nodes.size()];
    for (int i = 0; i < depths.length; i++) {
      depths[i] = depth(i);
      deepest = Math.max(deepest, depths[i]);
    }
    for (int i = 0; i < depths.length; i++) {
      nodes.set(i, atLevel(nodes.get(i), deepest + 1 - depths[i]));
    }
    return deepest + 1;
  }

  private int depth(int node) {
    return targets(nodes.get(node)).stream().mapToInt(each -> depth(each) + 1).max().orElse(0);
  }

  private static List<Integer> targets(Program.NodeProgram node) {
    List<Integer> targets = new ArrayList<>();
    if (node instanceof Program.RetractProgram retract) {
      for (Program.Use use : retract.uses()) {
        if (use instanceof Program.OwnUse own) {
          targets.add(own.target());
        } else if (use instanceof Program.ChildUse child) {
          targets.add(child.upward().target());
        } else {
          targets.add(((Program.ParentUse) use).target());
        }
      }
    } else if (node instanceof DocumentProgram.ToOneProgram lookup) {
      targets.add(lookup.merge() == null ? lookup.fold() : lookup.merge().upward().target());
    } else if (node instanceof DocumentProgram.MatchProgram match) {
      targets.add(match.fold());
    } else if (node instanceof DocumentProgram.FoldProgram fold && fold.upward() != null) {
      targets.add(fold.upward().target());
    }
    return targets;
  }

  private static Program.NodeProgram atLevel(Program.NodeProgram node, int level) {
    if (node instanceof Program.RetractProgram at) {
      return new Program.RetractProgram(at.name(), level, at.relation(), at.uses(), null, null);
    }
    if (node instanceof DocumentProgram.ToOneProgram at) {
      return new DocumentProgram.ToOneProgram(
          at.name(), level, at.childRelation(), at.childAssembler(), at.childType(),
          at.parentRelation(), at.fold(), at.branch(), at.merge());
    }
    if (node instanceof DocumentProgram.MatchProgram at) {
      return new DocumentProgram.MatchProgram(at.name(), level, at.arms(), at.fold());
    }
    if (node instanceof DocumentProgram.RootProgram at) {
      return new DocumentProgram.RootProgram(
          at.name(), level, at.relation(), at.product(), null, List.of(), null);
    }
    DocumentProgram.FoldProgram at = (DocumentProgram.FoldProgram) node;
    return new DocumentProgram.FoldProgram(
        at.name(), level, at.relation(), at.raw(), at.branches(), at.assembler(),
        at.product(), at.upward(), null);
  }
}
