package dev.joinery.kernel.state;

import java.util.Iterator;
import java.util.function.Function;

/** What is made of another iterator's elements, of each when it is its turn. */
public record Mapped<A, B>(Iterator<A> elements, Function<A, B> make) implements Iterator<B> {
  @Override
  public boolean hasNext() {
    return elements.hasNext();
  }

  @Override
  public B next() {
    return make.apply(elements.next());
  }
}
