package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import org.junit.jupiter.api.Test;

/** What each node took is told once, summed up. */
class NodesTest {
  private static final Table USER = Table.of("user", 1, "id long, name string");

  @Test
  void whatNodesTookIsToldOnceAndSummedUpByNode() throws JsonProcessingException {
    Program program = TreeProgram.of(false, Tree.root("product", USER));
    Nodes nodes = new Nodes(new Compiler(null).compile(program));
    nodes.spent(0, 500);
    nodes.spent(0, 20);
    nodes.spent(1, 7);

    nodes.tellCosts();

    ObjectMapper json = new ObjectMapper();
    assertEquals(
        json.readTree(
            """
            {"nodes": {"0": {"nanos": 520}, "1": {"nanos": 7}}}
            """),
        json.readTree(nodes.counters().toJson()));
    nodes.counters().clear();
    nodes.tellCosts();
    assertEquals("{}", nodes.counters().toJson());
  }

  @Test
  void messagesOfAKeyAreToldOnceBesideThoseOfItsNode() throws JsonProcessingException {
    Program program = TreeProgram.of(false, Tree.root("product", USER));
    Nodes nodes = new Nodes(new Compiler(null).compile(program));
    nodes.heard(0, new byte[] {1, 2, 3, 4, 1, 5}, 70);
    nodes.heard(0, new byte[] {9, 2, 3, 4, 1, 6}, 2);

    nodes.tellCosts();

    ObjectMapper json = new ObjectMapper();
    assertEquals(
        json.readTree(
            """
            {
              "nodes": {"0": {"messages": 72}},
              "keys": {"0": {"010203040105": 70}},
              "left_out": {"0": {"messages": 2}}
            }
            """),
        json.readTree(nodes.counters().toJson()));
    nodes.counters().clear();
    nodes.tellCosts();
    assertEquals("{}", nodes.counters().toJson());
  }
}
