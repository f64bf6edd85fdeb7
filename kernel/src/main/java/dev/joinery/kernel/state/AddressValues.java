package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.Address;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The value and the pages of one address, each under an address of its own.
 *
 * <p>Remembers the value and the pages that were read and not yet written, for what is written of
 * the next is what differs from them. What is not remembered is written whole.
 */
public final class AddressValues implements Pages {
  private final PatchedValues values;
  private final byte[] address;
  private PatchedValues.Standing value;
  private final Map<Integer, PatchedValues.Standing> pages = new LinkedHashMap<>(0);

  public AddressValues(PatchedValues values, byte[] address) {
    this.values = values;
    this.address = address;
  }

  /** The value, or null. */
  public byte[] read() {
    value = values.read(address);
    return value == null ? null : value.value();
  }

  public void write(byte[] bytes) {
    value = values.write(address, value, bytes);
  }

  public void clear() {
    value = null;
    values.remove(address);
  }

  @Override
  public byte[] get(int page) {
    PatchedValues.Standing standing = values.read(Address.ofPage(address, page));
    if (standing == null) {
      return null;
    }
    pages.put(page, standing);
    if (pages.size() > PageCache.PAGES) {
      pages.remove(pages.keySet().iterator().next());
    }
    return standing.value();
  }

  @Override
  public void put(int page, byte[] bytes) {
    values.write(Address.ofPage(address, page), pages.remove(page), bytes);
  }

  @Override
  public void remove(int page) {
    pages.remove(page);
    values.remove(Address.ofPage(address, page));
  }
}
