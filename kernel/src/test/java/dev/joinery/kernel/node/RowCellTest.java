package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.RawChange;
import org.junit.jupiter.api.Test;

class RowCellTest {
  private static final Slice ROW = Slice.of(new byte[] {1, 2, 3, 4, 5, 6, 7, 8});

  private static RawChange at(boolean positioned, long position, long major, long minor) {
    Change change = new Change(Message.OP_UPSERT, positioned, position, major, minor, null);
    return RawChange.read(Message.raw(0, 0, 0, change, ROW));
  }

  private static RowCell after(RawChange change) {
    RowCell cell = RowCell.read(null);
    cell.advance(change);
    cell.exists = true;
    cell.row = change.row();
    return cell;
  }

  private static RowCell reopened(RowCell cell) {
    return RowCell.read(Slice.of(cell.toBytes()));
  }

  @Test
  void nothingIsKnownOfARowNobodyHeardOf() {
    RowCell cell = RowCell.read(Slice.EMPTY);

    assertFalse(cell.known);
    assertFalse(cell.exists);
    assertEquals(RowCell.Standing.NEWER, cell.standing(at(true, -5, 0, 0)));
  }

  @Test
  void aCellComesBackAsItWasWritten() {
    RowCell cell = after(at(true, -7, 3, 1L << 40));
    cell.epoch = 1_700_000_000_000_000L;

    RowCell again = reopened(cell);

    assertTrue(again.known && again.exists && again.positioned);
    assertEquals(-7, again.position);
    assertEquals(3, again.major);
    assertEquals(1L << 40, again.minor);
    assertEquals(cell.epoch, again.epoch);
    assertEquals(ROW, again.row);
  }

  @Test
  void aRowThatBeginsAnewKnowsNothingOfTheFormerButWhatTellsThemApart() {
    RowCell cell = after(at(true, 9, 3, 4));
    cell.epoch = 50;

    cell.beginAnew(40);

    assertEquals(RowCell.Standing.NEWER, cell.standing(at(true, 1, 1, 1)));
    assertFalse(cell.exists);
    assertEquals(51, cell.began);
    cell.advance(at(true, 1, 1, 1));
    assertEquals(51, reopened(cell).began);
    assertEquals(1, reopened(cell).position);
  }

  @Test
  void aDeletedCellRemembersWhenAndWhetherATombstoneIsDue() {
    RowCell cell = after(at(false, 0, 1, 2));
    cell.exists = false;
    cell.row = Slice.EMPTY;
    cell.deletedAt = 77;
    cell.afterDelete = true;

    RowCell again = reopened(cell);

    assertTrue(again.known && again.afterDelete);
    assertFalse(again.exists || again.positioned);
    assertEquals(77, again.deletedAt);
  }

  @Test
  void placesCompareByPartitionOrFileFirst() {
    RowCell cell = reopened(after(at(false, 0, 2, 10)));

    assertEquals(RowCell.Standing.STALE, cell.standing(at(false, 0, 1, 99)));
    assertEquals(RowCell.Standing.STALE, cell.standing(at(false, 0, 2, 9)));
    assertEquals(RowCell.Standing.REPEAT, cell.standing(at(false, 0, 2, 10)));
    assertEquals(RowCell.Standing.NEWER, cell.standing(at(false, 0, 2, 11)));
    assertEquals(RowCell.Standing.NEWER, cell.standing(at(false, 0, 3, 0)));
  }

  @Test
  void positionsOfTheSourceComeBeforePlaces() {
    RowCell cell = reopened(after(at(true, 5, 2, 10)));

    assertEquals(RowCell.Standing.NEWER, cell.standing(at(true, 6, 0, 0)));
    assertEquals(RowCell.Standing.STALE, cell.standing(at(true, 4, 9, 9)));
    assertEquals(RowCell.Standing.NEWER, cell.standing(at(true, 5, 2, 11)));
    assertEquals(RowCell.Standing.REPEAT, cell.standing(at(true, 5, 2, 10)));
  }

  @Test
  void aPositionNeverFalls() {
    RowCell cell = after(at(true, 5, 0, 1));

    cell.advance(at(false, 0, 0, 2));

    assertEquals(5, reopened(cell).position);
    assertTrue(reopened(cell).positioned);
    assertEquals(2, reopened(cell).minor);
  }
}
