"""The relations of a plan, the columns computed over them, and pairs of columns compared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from joinery.expression.typed import Expression, Read
from joinery.model.type import DataType, Field, Struct
from joinery.project.schema_registry import RegistryOptions

if TYPE_CHECKING:
    from joinery.plan.product import Product
    from joinery.project.stream import ClocksSpec, WatermarkSpec


CLOCK = "clock"
EVENT_TIME = "event_time"
"""The columns that three clocks tell, `clock` being `ok`, `repaired` or `suspect`."""
LOG_TIME = "log_time"
"""The column with the time of the log, where that is one of them."""


@dataclass(frozen=True, slots=True)
class Computed:
    """An expression under a name."""

    name: str
    expression: Expression

    @property
    def kept(self) -> bool:
        """Whether it only reads the name that it has."""
        return self.expression.typed == Read(self.name, self.type)

    @property
    def type(self) -> DataType:
        """The type of its result."""
        return self.expression.type


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One column of an order; nulls come first ascending, last descending."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Personal:
    """The columns of a relation that are sealed when they are decoded.

    Attributes:
        subject: The column that says whose they are.
        fields: The columns.
        indexes: Of those that are joined on, the column with the blind index, which an erasure
            empties.
        keys: Of those that rows or subjects are known by, the column with the blind index that
            replaces it, even after an erasure.
        derived: What is computed while the columns are clear, in order, and then sealed like them;
            and what that reads of other derived columns, which are not of `fields`.
    """

    subject: str
    fields: tuple[str, ...]
    indexes: tuple[tuple[str, str], ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    derived: tuple[Computed, ...] = ()

    def index_of(self, column: str) -> str | None:
        """Return the column with the blind index of a column, None where it has none."""
        return dict(self.indexes).get(column)

    def key_of(self, column: str) -> str:
        """Return the column that rows or subjects are known by in place of a column."""
        return dict(self.keys).get(column, column)

    def inputs_of(self, columns: Collection[str]) -> frozenset[str]:
        """Return columns with all that the derived ones of them are computed from."""
        found = set(columns)
        for each in reversed(self.derived):
            if each.name in found:
                found |= each.expression.references
        return frozenset(found)

    def sealed_of(self, columns: Collection[str]) -> tuple[Computed, ...]:
        """Return those of some columns that are derived, and sealed."""
        both = {*columns}.intersection(self.fields)
        return tuple(each for each in self.derived if each.name in both)

    @property
    def hidden(self) -> frozenset[str]:
        """The columns with blind indexes, which no product may name."""
        return frozenset(index for _, index in (*self.indexes, *self.keys))


@dataclass(frozen=True, slots=True)
class Relation:
    """A keyed changelog, decoded.

    Attributes:
        where: Rows for which it is not true do not exist (scope: columns and derived).
        columns: As they are decoded: those declared, then those derived from personal ones.
        derived: Over these columns and the derived ones above.
        unique: Column sets that the plan may treat as a key.
        registry: Where the schemas of its messages are; None where it needs none.
        append: True for a log of events, whose key may be empty.
        time: The column of an event's time, or from which a version is valid.
        watermark: How far its times may be behind one another.
        clocks: The clocks that its time was made of; None where a column tells it alone.
        logged: Whether its column `log_time` is the time at which the log took a record.
        product: What is sent as its rows; None for a changelog that is read from a source.
        personal: Which of its columns are sealed; those with blind indexes come last, and are in
            no row that a product may name. They stand in the key for columns that are personal.
    """

    name: str
    source: str
    topic: str
    format: str
    key: tuple[str, ...]
    columns: tuple[Field, ...]
    derived: tuple[Computed, ...] = ()
    where: Expression | None = None
    unique: tuple[tuple[str, ...], ...] = ()
    position: str | None = None
    time_unit: Literal["micros", "millis", "nanos"] = "micros"
    images: Literal["full", "key"] = "full"
    registry: RegistryOptions | None = None
    append: bool = False
    time: str | None = None
    watermark: WatermarkSpec | None = None
    clocks: ClocksSpec | None = None
    logged: bool = False
    product: Product | None = None
    personal: Personal | None = None

    @property
    def row(self) -> Struct:
        """All columns a product may name: declared, then derived."""
        derived = tuple(Field(each.name, each.expression.type) for each in self.derived)
        if self.personal is None:
            return Struct(self.columns + derived)
        hidden = self.personal.hidden
        return Struct(tuple(each for each in self.columns if each.name not in hidden) + derived)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The key as it is declared, and as documents name it."""
        if self.personal is None:
            return self.key
        declared = {index: name for name, index in self.personal.keys}
        return tuple(declared.get(each, each) for each in self.key)

    @property
    def has_personal_key(self) -> bool:
        """Whether blind indexes stand in place of columns of its key."""
        return self.key_names != self.key

    @property
    def erased_by(self) -> str | None:
        """The column that an erasure finds rows by; None where it is the key, or none is sealed."""
        if self.personal is None:
            return None
        subject = self.personal.key_of(self.personal.subject)
        return None if self.key == (subject,) else subject

    def key_fields(self) -> tuple[Field, ...]:
        """Return the columns of its key as documents have them."""
        pairs = zip(self.key_names, self.key, strict=True)
        return tuple(Field(name, self.type_of(each)) for name, each in pairs)

    @property
    def delay_ms(self) -> int:
        """How far below the newest time a row may come without being late."""
        return self.watermark.delay_ms if self.watermark else 0

    @property
    def clock(self) -> tuple[Relation, int]:
        """The changelog by whose times its watermark goes, and how far below them, in ms.

        Of a product it is that of what the product groups, or of its root.
        """
        if self.product is None:
            return self, self.delay_ms
        changelog, before_ms = self.product.form.relation.clock
        return changelog, before_ms + self.delay_ms

    @property
    def nullable_key(self) -> frozenset[str]:
        """The columns of its key that may be null: of a changelog none, such rows are refused."""
        return frozenset() if self.product is None else self.product.nullable_key | self.taken_out

    @property
    def taken_out(self) -> frozenset[str]:
        """The columns of its key that stand in an object of what is sent as its rows."""
        columns = () if self.product is None else self.product.key_columns
        return frozenset(each.name for each in columns if each.inner is not None)

    @property
    def keyed(self) -> bool:
        """Whether its key names columns of its own; where not, that is noted as a problem."""
        return set(self.key) <= {each.name for each in self.columns}

    def type_of(self, column: str) -> DataType:
        """Return the type of a declared or derived column, or of a blind index."""
        known = (*self.columns, *self.row.fields)
        return next(each.type for each in known if each.name == column)


@dataclass(frozen=True, slots=True)
class JoinPair:
    """`child` = `parent`, compared as `type`, to which both widen without loss."""

    child: str
    parent: str
    type: DataType
