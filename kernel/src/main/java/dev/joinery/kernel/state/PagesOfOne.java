package dev.joinery.kernel.state;

/**
 * The pages of one of many maps of an address, numbered apart from those of the others.
 *
 * @param number of the map, below {@link #MAPS}
 */
public record PagesOfOne(Pages pages, int number) implements Pages {
  public static final int MAPS = 256;

  @Override
  public byte[] get(int page) {
    return pages.get(numberOf(page));
  }

  @Override
  public void put(int page, byte[] bytes) {
    pages.put(numberOf(page), bytes);
  }

  @Override
  public void remove(int page) {
    pages.remove(numberOf(page));
  }

  private int numberOf(int page) {
    return page * MAPS + number;
  }
}
