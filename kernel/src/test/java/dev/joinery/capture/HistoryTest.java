package dev.joinery.capture;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Statements end a capture where they change its tables, however they are written. */
class HistoryTest {
  private static final String UNKNOWN = "";

  @TempDir Path folder;

  private History history() throws IOException {
    return new History(folder.resolve("history"), "shop\\.customer,shop\\.odd\\`name");
  }

  private void refused(String sql, String database) throws IOException {
    History history = history();
    assertThrows(IOException.class, () -> history.checkRows(sql, database));
  }

  private void passed(String sql, String database) throws IOException {
    History history = history();
    assertDoesNotThrow(() -> history.checkRows(sql, database));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "insert into customer values (1)",
        "insert into`customer`values(1)",
        "insert into customer(id)values(1)",
        "insert customer set id = 1",
        "INSERT INTO /* app */ customer VALUES (1)",
        "insert /*+ SET_VAR(unique_checks = OFF) */ into customer values (1)",
        "insert /*!50000 ignore */ into customer values (1)",
        "insert /*M!100100 into customer */ values (1)",
        "/* app */ insert\ninto\tcustomer values (1)",
        "# app\n-- app\ninsert low_priority ignore into customer values (1)",
        "replace into CUSTOMER select 1",
        "insert into `odd``name` values (1)",
        "update customer set id = 2",
        "update`customer`set id = 2",
        "update ignore orders o join customer as c on c.id = o.id set c.id = 2",
        "delete from customer where id = 1",
        "delete customer.* from customer, orders",
        "delete from c using customer c join orders",
        "with orders as (select 1) update orders, customer set id = 2",
        "set statement max_statement_time = 1 for insert into customer values (1)",
        "SET STATEMENT max_statement_time = 1 FOR\nupdate customer set id = 2",
        "analyze update customer set id = 2",
        "set statement max_statement_time = 1 for analyze format=json delete from customer",
      })
  void rowsOfItsTables(String sql) throws IOException {
    refused(sql, "shop");
    refused(sql, UNKNOWN);
    passed(sql, "archive");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "insert into shop.customer values (1)",
        "insert into `shop`.`customer` values (1)",
        "insert into shop . customer values (1)",
        "update shop.customer set id = 2",
        "delete shop.customer.* from shop.customer",
        "delete c from orders o join shop.customer c on c.id = o.id",
      })
  void rowsOfItsTablesFromAnyDatabase(String sql) throws IOException {
    refused(sql, "archive");
    refused(sql, UNKNOWN);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "insert into orders select * from customer",
        "insert into orders values ('insert into customer', \"customer\")",
        "update archive.customer set id = 2",
        "delete from archive.customer",
        "insert into archive.customer values (1)",
        "update orders /* customer */ set id = (select max(id) from customer)",
        "delete from orders where id in (select id from customer)",
        "set statement max_statement_time = 1 for update archive.customer set id = 2",
        "analyze format=json select * from customer",
        "analyze table customer",
        "select 1",
        "set",
        "",
        "/* customer",
        "insert 'customer",
      })
  void rowsOfOtherTables(String sql) throws IOException {
    passed(sql, "shop");
    passed(sql, UNKNOWN);
  }

  @Test
  void aStatementOfManyValuesIsReadAtItsBeginning() throws IOException {
    String values = "(1, 'a')" + ", (2, 'it\\'s')".repeat(200_000);

    refused("insert into customer values " + values, "shop");
    passed("insert into orders values " + values, "shop");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "alter table`customer`add odd int",
        "set statement max_statement_time = 1 for alter table customer add odd int",
        "drop table orders, shop.customer",
        "rename table orders to archive.orders, /* x */ customer to gone",
        "create or replace table if not exists customer (id int)",
      })
  void tablesThatAreChangedAndNotUnderstood(String ddl) throws IOException {
    assertEquals("", ddl.contains("shop.") ? "" : noted(ddl, "archive"));
    assertEquals(
        "a statement that changes a captured table is not understood: " + ddl, noted(ddl, "shop"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "drop table archive.customer",
        "rename table archive.customer to archive.gone",
        "alter table orders add customer int",
        "create index customer on orders (id)",
      })
  void otherTablesThatAreChangedAndNotUnderstood(String ddl) throws IOException {
    assertEquals("", noted(ddl, "shop"));
  }

  /** Returns what is refused once a statement is noted; empty where nothing is. */
  private String noted(String ddl, String database) throws IOException {
    History history = history();
    String line = "{\"ddl\": \"%s\", \"databaseName\": \"%s\", \"tableChanges\": []}\n";
    Path file = folder.resolve("history");
    Files.writeString(file, line.formatted(ddl, database));
    try {
      history.check();
      return "";
    } catch (IOException refused) {
      return refused.getMessage();
    } finally {
      Files.delete(file);
    }
  }
}
