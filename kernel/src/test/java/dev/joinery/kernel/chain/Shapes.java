package dev.joinery.kernel.chain;

import java.util.List;

/** Documents under test: one for each way in which levels can stand above one another. */
final class Shapes {
  private static final Table USER = Table.of("user", 1, "email long, username long, name string");
  private static final Table REPO =
      Table.of("repo", 2, "owner long, name long, description string");
  private static final Table STAR =
      Table.of("star", 3, "username long, repo_name long, repo_owner long, created long");
  private static final Table PULL =
      Table.of("pull", 2, "repo long, index long, author long, created long");
  private static final Table PAYMENT = Table.of("payment", 1, "id long, user_id long, paid long");

  /** {@code name} tells which shape a failing seed is of. */
  record Sample(String name, List<Tree> roots) {
    /** True where documents stay small when groups are large. */
    boolean isShallow() {
      return List.of(
              "user profile",
              "merged lookup over a link that moves",
              "limited windows",
              "fused edges",
              "fused edge over a link that moves")
          .contains(name);
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private Shapes() {}

  static List<Sample> all() {
    return List.of(
        new Sample("user profile", List.of(userProfile())),
        new Sample("merged lookup over a link that moves", List.of(movingHolder())),
        new Sample("merged lookup under a lookup", List.of(lookupChain())),
        new Sample("fold under fold", List.of(foldUnderFold())),
        new Sample("limited windows", List.of(limited())),
        new Sample("fused edges", List.of(fused())),
        new Sample("fused edge over a link that moves", List.of(fusedHolder())),
        new Sample("sibling lookups", List.of(siblings())),
        new Sample("one relation in two roles", List.of(twoRoles())),
        new Sample("self reference", List.of(selfReference())),
        new Sample("rows that come and go by where", List.of(conditions())),
        new Sample("lookup of a root that moves", List.of(movingRoot())),
        new Sample("two products of one query", List.of(userProfile(), movingHolder())));
  }

  private static Tree userProfile() {
    Tree repo = Tree.one("r", REPO, "owner=repo_owner,name=repo_name");
    return Tree.root(
        "profile",
        USER,
        Tree.many("stars", STAR, "username=username", repo),
        Tree.many("pulls", PULL, "author=username").order("created", false),
        Tree.one("payment", PAYMENT, "user_id=email"));
  }

  private static Tree movingHolder() {
    Table pull = Table.of("pull2", 1, "id long, author long, repo_owner long, repo_name long");
    Tree repo = Tree.one("r", REPO, "owner=repo_owner,name=repo_name");
    return Tree.root("holder", USER, Tree.many("pulls", pull, "author=username", repo));
  }

  private static Tree lookupChain() {
    Table city = Table.of("city", 1, "id long, country long, name string");
    Table country = Table.of("country", 1, "id long, name string");
    Table street = Table.of("street", 1, "id long, city long");
    Table house = Table.of("house", 1, "id long, street long, floor long");
    Tree cities = Tree.one("city", city, "id=city", Tree.one("country", country, "id=country"));
    return Tree.root(
        "house", house, Tree.one("street", street, "id=street", cities));
  }

  private static Tree foldUnderFold() {
    Table order = Table.of("order", 1, "id long, customer long, code long");
    Table line = Table.of("line", 1, "id long, order_code long, product long");
    Table price = Table.of("price", 1, "id long, product long, amount long");
    Table customer = Table.of("customer", 1, "id long, name string");
    Table note = Table.of("note", 1, "id long, line long");
    Tree lines =
        Tree.many(
            "lines",
            line,
            "order_code=code",
            Tree.many("prices", price, "product=product"),
            Tree.many("notes", note, "line=id"));
    return Tree.root(
        "customer",
        customer,
        Tree.many("orders", order, "customer=id", lines, Tree.many("again", line, "product=code")));
  }

  private static Tree limited() {
    Table post = Table.of("post", 1, "id long, topic long, score long, shown boolean");
    Table topic = Table.of("topic", 1, "id long, slug long");
    return Tree.root(
        "topic",
        topic,
        Tree.many("best", post, "topic=slug")
            .order("score", true)
            .limit(2)
            .aggregates("sum:score", "max:score", "min:score", "count:score"),
        Tree.many("first", post, "topic=id").limit(1).where("shown"),
        Tree.one("oldest", post, "topic=slug").order("score", false));
  }

  private static Tree fused() {
    Table head = Table.of("head", 2, "a long, b long, text string");
    Table item = Table.of("item", 1, "id long, b long, a long, n long");
    Table note = Table.of("note", 1, "id long, item long");
    Table tag = Table.of("tag", 1, "id long, label string");
    Table marked = Table.of("marked", 1, "id long, a long, b long, tag long");
    Tree items =
        Tree.many("items", item, "b=b,a=a", Tree.many("notes", note, "item=id"))
            .order("n", true);
    return Tree.root(
        "head",
        head,
        items,
        Tree.many("marks", marked, "a=a,b=b", Tree.one("tag", tag, "id=tag")));
  }

  private static Tree fusedHolder() {
    Table head = Table.of("head", 1, "id long, text string");
    Table marked = Table.of("marked", 1, "id long, head long, tag long");
    Table tag = Table.of("tag", 1, "id long, label string");
    return Tree.root(
        "head", head, Tree.many("marks", marked, "head=id", Tree.one("tag", tag, "id=tag")));
  }

  private static Tree siblings() {
    Table trip = Table.of("trip", 1, "id long, start long, finish long, driver long");
    Table place = Table.of("place", 1, "id long, region long, name string");
    Table region = Table.of("region", 1, "id long, name string");
    Table driver = Table.of("driver", 1, "id long, car long");
    Table car = Table.of("car", 1, "id long, color string");
    return Tree.root(
        "trip",
        trip,
        Tree.one("start_place", place, "id=start", Tree.one("region", region, "id=region")),
        Tree.one("finish_place", place, "id=finish"),
        Tree.one(
            "by",
            driver,
            "id=driver",
            Tree.one("car", car, "id=car"),
            Tree.many("trips", trip, "driver=id")));
  }

  private static Tree twoRoles() {
    Table account = Table.of("account", 1, "id long, number long, name string");
    Table transfer = Table.of("transfer", 1, "id long, source long, target long, amount long");
    return Tree.root(
        "account",
        account,
        Tree.many("sent", transfer, "source=number").aggregates("sum:amount"),
        Tree.many(
                "received",
                transfer,
                "target=number",
                Tree.one("sender", account, "number=source").order("name", false))
            .order("amount", true)
            .limit(2));
  }

  private static Tree selfReference() {
    Table person = Table.of("person", 1, "id long, boss long, desk long");
    return Tree.root(
        "person",
        person,
        Tree.one("boss_of", person, "id=boss", Tree.one("boss_of", person, "id=boss")),
        Tree.many("reports", person, "boss=id", Tree.many("near", person, "desk=desk")));
  }

  private static Tree movingRoot() {
    Table shop = Table.of("shop", 1, "id long, city long");
    Table sale = Table.of("sale", 1, "id long, shop long, open boolean, amount long");
    return Tree.root("sale", sale, Tree.one("shop", shop, "id=shop")).where("open");
  }

  private static Tree conditions() {
    Table shop = Table.of("shop", 1, "id long, open boolean, code long").where("open");
    Table item = Table.of("item", 1, "id long, shop_code long, sold boolean, kind long");
    Table kind = Table.of("kind", 1, "id long, active boolean").where("active");
    return Tree.root(
        "shop",
        shop,
        Tree.many("items", item, "shop_code=code", Tree.one("kind", kind, "id=kind"))
            .where("sold"),
        Tree.many("all", item, "shop_code=code"));
  }
}
