package dev.joinery.kernel.search;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.bytes.Slice;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.index.memory.MemoryIndex;
import org.apache.lucene.queryparser.classic.MultiFieldQueryParser;
import org.apache.lucene.queryparser.classic.ParseException;
import org.apache.lucene.search.Query;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Text queries against Lucene's own parser, analyzer and index of one document. */
class TextQueriesTest {
  private static final int QUERIES = Integer.getInteger("queries", 2_000);
  private static final StructType ROW =
      new StructType().add("title", "string").add("tags", "array<string>").add("price", "int");
  private static final String[] FIELDS = {"title", "tags"};
  private static final String[] WORDS = {
    "oak", "Oak", "table", "tables", "wi-fi", "can't", "3.5", "1,000", "a_b", "Straße", "ÉCOLE",
    "e\u0301te\u0301", "漢字", "ひら", "カタカナ", "ΟΔΟΣ", "İx", "foo:bar", "x.y", "--", "한국어", "snake__"
  };
  private static final StandardAnalyzer ANALYZER = new StandardAnalyzer();

  private record Text(String title, List<String> tags) {
    InternalRow row() {
      Object[] each = tags.stream().map(UTF8String::fromString).toArray();
      return new GenericInternalRow(
          new Object[] {UTF8String.fromString(title), new GenericArrayData(each), 7});
    }

    MemoryIndex index() {
      MemoryIndex index = new MemoryIndex();
      index.addField("title", title, ANALYZER);
      tags.forEach(each -> index.addField("tags", ANALYZER.tokenStream("tags", each), 100, 1));
      return index;
    }
  }

  static TextQueries queries() {
    Conditions conditions = new Conditions(ROW, Set.of("exists"), 8192);
    return new TextQueries(ROW, conditions, 8192);
  }

  private static String word(Random pick) {
    return WORDS[pick.nextInt(WORDS.length)];
  }

  private static String phrase(Random pick, int most) {
    StringBuilder out = new StringBuilder();
    for (int left = 1 + pick.nextInt(most); left > 0; left--) {
      out.append(word(pick)).append(pick.nextInt(8) == 0 ? ", " : " ");
    }
    return out.toString();
  }

  private static Text text(Random pick) {
    List<String> tags = new ArrayList<>();
    for (int left = pick.nextInt(4); left > 0; left--) {
      tags.add(phrase(pick, 3));
    }
    return new Text(phrase(pick, 8), tags);
  }

  private static String escaped(String word) {
    return word.replace(":", "\\:");
  }

  private static String term(Random pick) {
    String word = word(pick);
    String start = word.substring(0, word.offsetByCodePoints(0, 1));
    boolean letter = Character.isLetterOrDigit(start.codePointAt(0));
    return switch (pick.nextInt(9)) {
      case 0 -> "\"" + phrase(pick, 3).trim() + "\"";
      case 1 -> letter ? start + "*" : "oak*";
      case 2 -> letter ? start + "?" + word.substring(word.length() - 1) : "t?bl*";
      case 3 ->
          (pick.nextBoolean() ? "[" : "{") + (pick.nextInt(4) == 0 ? "*" : "\"" + word + "\"")
              + " TO " + (pick.nextInt(4) == 0 ? "*" : "zzz") + (pick.nextBoolean() ? "]" : "}");
      default -> word.equals("--") ? "oak" : escaped(word);
    };
  }

  private static String query(Random pick, int depth) {
    StringBuilder out = new StringBuilder();
    for (int left = 1 + pick.nextInt(3); left > 0; left--) {
      out.append(new String[] {"", "", "+", "-", "NOT ", "!"}[pick.nextInt(6)]);
      out.append(new String[] {"", "", "title:", "tags:"}[pick.nextInt(4)]);
      boolean group = depth < 2 && pick.nextInt(4) == 0;
      out.append(group ? "(" + query(pick, depth + 1) + ")" : term(pick));
      out.append(pick.nextInt(12) == 0 ? "^2.5" : "");
      if (left > 1) {
        out.append(new String[] {" ", " AND ", " OR ", " && ", " || "}[pick.nextInt(5)]);
      }
    }
    return out.toString();
  }

  private static Query lucene(String query) throws ParseException {
    return new MultiFieldQueryParser(FIELDS, ANALYZER).parse(query);
  }

  @Test
  void aQueryHoldsOfWhatLuceneFinds() throws ParseException {
    Random pick = new Random(QUERIES);
    List<Text> texts = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      texts.add(text(pick));
    }
    List<MemoryIndex> indexes = texts.stream().map(Text::index).toList();
    TextQueries language = queries();
    int found = 0;
    for (int i = 0; i < QUERIES; i++) {
      String query = query(pick, 0);
      Language.Read read = language.read(List.of(query)).get(0);
      Query asked = lucene(query);
      assertNull(read.broken(), query);
      for (int n = 0; n < 10; n++) {
        int at = pick.nextInt(texts.size());
        boolean expected = indexes.get(at).search(asked) > 0;
        boolean holds = read.condition().of(texts.get(at).row()) == Condition.Verdict.HOLDS;
        assertEquals(expected, holds, query + " of " + texts.get(at));
        found += expected ? 1 : 0;
      }
    }
    assertTrue(found > QUERIES && found < 9 * QUERIES, "found " + found);
  }

  @Test
  void whatIsWrittenWronglyIsWhatLuceneRefuses() {
    Random pick = new Random(5);
    String[] parts = {
      "a", "oak", " ", " ", "AND", "OR", "NOT", "+", "-", "!", "(", ")", "\"", "title:", "[a TO b]",
      "{a TO *}", "*:*", "b*", "?", "\\+", "^2", ":", "\u3000", "&&", "||", "\"a b\"", "c?"
    };
    TextQueries language = queries();
    int good = 0;
    for (int i = 0; i < QUERIES * 5; i++) {
      StringBuilder out = new StringBuilder();
      for (int left = 1 + pick.nextInt(8); left > 0; left--) {
        out.append(parts[pick.nextInt(parts.length)]);
      }
      boolean expected;
      try {
        lucene(out.toString());
        expected = true;
      } catch (ParseException refused) {
        expected = false;
      }
      Language.Read read = language.read(List.of(out.toString())).get(0);
      boolean unknown = read.broken() != null && read.broken().contains("there is no column");
      if (!unknown) {
        assertEquals(expected, read.broken() == null, "<" + out + "> " + read.broken());
        good += expected ? 1 : 0;
      }
    }
    assertTrue(good > QUERIES / 2, "good " + good);
  }

  @Test
  void wordsAreThoseOfTheStandardAnalyzer() throws Exception {
    Random pick = new Random(9);
    String signs = "aBé\u0301漢ひカ_.,:;'’- 19٣한İß\u00ad\u200b\u200dⅧ…°/";
    for (int i = 0; i < QUERIES * 3; i++) {
      StringBuilder out = new StringBuilder();
      for (int left = pick.nextInt(12); left > 0; left--) {
        out.append(signs.charAt(pick.nextInt(signs.length())));
      }
      List<String> expected = new ArrayList<>();
      try (TokenStream tokens = ANALYZER.tokenStream("", out.toString())) {
        CharTermAttribute word = tokens.addAttribute(CharTermAttribute.class);
        tokens.reset();
        while (tokens.incrementToken()) {
          expected.add(word.toString());
        }
        tokens.end();
      }
      assertEquals(expected, Words.of(out.toString()), out.toString());
    }
  }

  @Test
  void anIndexLeavesOutNoQueryThatHolds() {
    Random pick = new Random(3);
    StoredQueries stored = new StoredQueries(queries());
    Map<Slice, StoredQueries.Source> sources = new LinkedHashMap<>();
    for (int i = 0; i < 800; i++) {
      Slice key = Slice.of(("q" + i).getBytes(StandardCharsets.UTF_8));
      String text = pick.nextInt(6) == 0 ? "price:7 AND " + query(pick, 1) : query(pick, 0);
      sources.put(key, new StoredQueries.Source(key, key, Slice.EMPTY, text));
    }
    Map<Slice, StoredQuery> all = stored.read(sources);
    QuerySet set = stored.of(all);
    for (int i = 0; i < 200; i++) {
      InternalRow row = text(pick).row();
      Set<Slice> expected = new HashSet<>();
      for (StoredQuery each : all.values()) {
        assertNotNull(each.condition(), each.broken());
        if (each.condition().of(row) == Condition.Verdict.HOLDS) {
          expected.add(each.key());
        }
      }
      Set<Slice> found = new HashSet<>();
      set.matching(
          Slice.EMPTY, row, each -> assertTrue(found.add(each.key()), "comes once"), each -> {});
      assertEquals(expected, found);
    }
  }

  /** The reference is held to the same table. */
  @Test
  void theTableHoldsWhatLuceneFindsAndTheKernelToo() throws Exception {
    JsonNode table;
    try (InputStream in = TextQueriesTest.class.getResourceAsStream("/text_cases.json")) {
      table = new ObjectMapper().readTree(in);
    }
    List<Text> texts = new ArrayList<>();
    for (JsonNode each : table.get("texts")) {
      List<String> tags = new ArrayList<>();
      each.get("tags").forEach(tag -> tags.add(tag.asText()));
      texts.add(new Text(each.get("title").asText(), tags));
    }
    List<MemoryIndex> indexes = texts.stream().map(Text::index).toList();
    TextQueries language = queries();
    for (Map.Entry<String, JsonNode> each : table.get("queries").properties()) {
      Language.Read read = language.read(List.of(each.getKey())).get(0);
      assertEquals(each.getValue().isNull(), read.broken() != null, each.getKey());
      for (int i = 0; i < texts.size() && read.broken() == null; i++) {
        boolean holds = read.condition().of(texts.get(i).row()) == Condition.Verdict.HOLDS;
        assertEquals(indexes.get(i).search(lucene(each.getKey())) > 0, holds, each.getKey());
        assertEquals(has(each.getValue(), i), holds, each.getKey());
      }
    }
    for (Map.Entry<String, JsonNode> each : table.get("words").properties()) {
      List<String> words = new ArrayList<>();
      each.getValue().forEach(word -> words.add(word.asText()));
      assertEquals(words, Words.of(each.getKey()));
    }
  }

  private static boolean has(JsonNode numbers, int wanted) {
    for (JsonNode each : numbers) {
      if (each.asInt() == wanted) {
        return true;
      }
    }
    return false;
  }
}
