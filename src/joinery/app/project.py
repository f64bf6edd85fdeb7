"""A project to work with: its spec, its plan when it is asked for, and its products.

Spark is imported when documents are asked for, never before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from joinery.app.declarations import Table
from joinery.app.live import Shown, shown_of, shown_of_files
from joinery.errors import ProjectErrors, SpecError, suggesting, suggesting_methods
from joinery.expression.expression import Analyser
from joinery.model.type import DataType
from joinery.plan import stream
from joinery.plan.build import build_plan
from joinery.plan.explain.page import (
    Explanation,
    Section,
    StreamExplanation,
    explain,
    explain_stream,
)
from joinery.plan.product import Plan
from joinery.plan.product import Product as PlannedProduct
from joinery.project.argument import given
from joinery.project.declare_embed import Document
from joinery.project.load import dump_spec, load_spec
from joinery.project.product import ProductSpec, ProjectSpec, located
from joinery.project.read import read_project
from joinery.project.relation import RelationSpec
from joinery.project.stream import StreamSpec
from joinery.project.tree import tree_of
from joinery.project.typing import DefaultsMap, RunMap, Sink, Source, VaultMap, WindowMap
from joinery.solutions.spark_state.explain import explain_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class UnknownNameError(SpecError, KeyError):
    """A project has no product or stream of a name."""

    code = "SPEC_UNKNOWN_NAME"


class Declaring(Protocol):
    """What declares a project, as an app does."""

    @property
    def project(self) -> Project:
        """The project that is declared so far."""


ProjectLike: TypeAlias = "Project | Declaring | str | Path"
"""A project, an app, or the file or folder that declares a project."""

_Named = TypeVar("_Named")


class ByName(dict[str, _Named]):
    """Products, streams or tables by name; one that is not there is told with those that are."""

    def __init__(self, kind: str, named: Mapping[str, _Named]) -> None:
        super().__init__(named)
        self._kind = kind

    def __missing__(self, name: str) -> _Named:
        raise unknown_name(self._kind, name, self)


def unknown_name(kind: str, name: object, known: Collection[str]) -> UnknownNameError:
    """Return the error of a name that a project does not have, with those that it has."""
    near = get_close_matches(str(name), known, n=1)
    return UnknownNameError(
        f'the project has no {kind} "{name}"',
        detail=f"It has {', '.join(known)}." if known else f"It has no {kind}s.",
        hint=f'Use "{near[0]}".' if near else "",
    )


@suggesting_methods
class Product:
    """One product of a project: its declaration and its plan."""

    def __init__(self, project: Project, spec: ProductSpec) -> None:
        self.project, self.spec, self.name = project, spec, spec.name

    @property
    def plan(self) -> PlannedProduct:
        """The product's logical plan; the whole project must hold."""
        found = (each for each in self.project.plan.products if each.name == self.name)
        return next(found)

    def explain(self, sections: Iterable[Section] = (), *, kernel: bool = False) -> Explanation:
        """Return the plan as text, `.to_mermaid()` and `.to_html()`.

        Args:
            sections: What is to follow it.
            kernel: With the program that the runtime is given.
        """
        if not kernel:
            return explain(self.plan, sections)
        query = [each for each in self.project.plan.products if each.query == self.plan.query]
        return explain(self.plan, (*explain_query(query), *sections))

    def documents(
        self,
        spark: SparkSession,
        frames: Mapping[str, DataFrame],
        *,
        format: Literal["struct", "json"] = "struct",
        dead_letters: bool = False,
    ) -> DataFrame:
        """Return a DataFrame of documents: key, value, version.

        It belongs to a clone of the session: `.sparkSession` of the result, not `spark`,
        knows its temporary views, its streaming queries, and the table of a memory sink.

        Args:
            spark: The session to clone; its settings are left alone.
            frames: For each relation, a DataFrame of its changes, all streaming or none: the
                relation's columns, `__op` and `__position` where there are some, or a
                source's records. A relation without a frame is empty.
            format: `value` as a typed struct, or as JSON text.
            dead_letters: Add a column `error`, and a row for each change that cannot be used.
                Without it a batch fails at the first, and a stream leaves them out with a
                warning.

        Raises:
            JoineryError: A frame has other columns, or a session that cannot be used.

        Example:
            project.products["person"].documents(spark, {"user": spark.table("users")}).show()
        """
        from joinery.spark.frames.documents import documents

        self.project.ask(spark)
        limits = self.project.spec.run
        return documents(
            self.plan, spark, frames, format=format, dead_letters=dead_letters, run=limits
        )

    def __repr__(self) -> str:
        return f"<product {self.name} of project {self.project.name}>"


class Stream:
    """One stream of a project: its declaration and its plan."""

    def __init__(self, project: Project, spec: StreamSpec) -> None:
        self.project, self.spec, self.name = project, spec, spec.name

    @property
    def plan(self) -> stream.Stream:
        """The stream's logical plan; the whole project must hold."""
        return next(each for each in self.project.plan.streams if each.name == self.name)

    def explain(self, *, why: bool = False) -> StreamExplanation:
        """Return the plan as text, `.to_mermaid()` and `.to_html()`.

        Args:
            why: With how each lookup runs, and why so.
        """
        return explain_stream(self.plan, why=why)

    def preview(self, rows: int = 20, *, spark: SparkSession | None = None) -> Shown:
        """Return the first events, and how many wait or were filtered out; nothing is kept.

        The beginning of the logs is read, up to 10,000 records. Over change files no session
        is needed.

        Args:
            rows: The most events.
            spark: The session in which they are computed; where none is given, the active one,
                or one that is opened if the logs need it.
        """
        spec, made = self.project.spec, self.plan
        shown = shown_of_files(spec, made, rows) if spark is None else None
        return shown or shown_of(spec, made, spark or _session(spec), rows)

    def __repr__(self) -> str:
        return f"<stream {self.name} of project {self.project.name}>"


@suggesting_methods
class Project:
    """Relations, and the products and streams made of them, as a project file declares them.

    Args:
        name: Its name, which the session and lineage show.
        relations: Those that no product was given as an object; also tables of an app.
        products: As `jn.document`, `jn.aggregate` and `jn.outbox` make them.
        streams: By name, as in a project file.
        sources: By name: a kind with its options.
        defaults: The source and the format of relations that name none.
        sinks: By name: a kind with its options.
        windows: By name: windows that several products share.
        vault: Where the keys of personal columns are: a kind with its options, and `master`.
        run: How it runs.
        folder: Where relative paths begin.

    Raises:
        ProjectErrors: With every problem of the declaration.

    Example:
        >>> import joinery as jn
        >>> user = jn.relation("user", key=["id"], fields={"id": "long", "name": "string"})
        >>> project = jn.Project("people", products=[jn.document("person", user)])
        >>> print(project.products["person"].explain())
        -- logical
        Emit person by id
          Project id, name
          Scan user [id, name]
    """

    def __init__(
        self,
        name: str = "project",
        *,
        relations: Sequence[RelationSpec | Table] = (),
        products: Sequence[Document] = (),
        streams: Mapping[str, Mapping[str, object]] | None = None,
        sources: Mapping[str, Source] | None = None,
        defaults: DefaultsMap | None = None,
        sinks: Mapping[str, Sink] | None = None,
        windows: Mapping[str, WindowMap] | None = None,
        vault: VaultMap | None = None,
        run: RunMap | None = None,
        folder: str | Path = ".",
    ) -> None:
        listed = _all_of(Document, products, "products", "jn.document")
        named: list[RelationSpec | Table] = _all_of(
            (RelationSpec, Table), relations, "relations", "jn.relation"
        )
        told = [each.spec if isinstance(each, Table) else each for each in named]
        told += (each for made in listed for each in made.relations)
        known, made = tuple(_distinct(told)), tuple(_products(listed))
        sections: dict[str, object] = {"streams": streams, "sources": sources, "defaults": defaults}
        sections |= {"sinks": sinks, "windows": windows, "vault": vault, "run": run}
        data: dict[str, object] = {"name": name, "relations": {}, "products": {}}
        read = read_project(tree_of(data | given(sections)), folder=Path(folder))
        self.spec = located(replace(read, relations=known, products=made))
        self.framed: Collection[str] = ()
        self._analyser: Analyser = _LazySpark()

    @classmethod
    def of(
        cls, spec: ProjectSpec, analyser: Analyser | None = None, *, framed: Collection[str] = ()
    ) -> Project:
        """Return the project of a spec that was read already.

        Args:
            spec: What it declares.
            analyser: Types what only Spark knows.
            framed: The relations whose changes are in DataFrames, which no run reads.
        """
        project = cls.__new__(cls)
        project.spec, project._analyser = spec, analyser or _LazySpark()
        project.framed = framed
        return project

    @property
    def name(self) -> str:
        """The project's name."""
        return self.spec.name

    @cached_property
    def plan(self) -> Plan:
        """The plan of all products and streams; raises ProjectErrors with every problem."""
        return build_plan(self.spec, self._analyser)

    def ask(self, spark: SparkSession) -> None:
        """Let `spark` type what only Spark knows, where the plan is not built yet."""
        self._analyser = _LazySpark(spark)

    @property
    def products(self) -> Mapping[str, Product]:
        """The products by name; asking for one that is not there tells which are."""
        found = {each.name: Product(self, each) for each in self.spec.products}
        return ByName("product", found)

    @property
    def streams(self) -> Mapping[str, Stream]:
        """The streams by name; asking for one that is not there tells which are."""
        return ByName("stream", {each.name: Stream(self, each) for each in self.spec.streams})

    def to_yaml(self) -> str:
        """Return the project as the text of its file."""
        return dump_spec(self.spec)

    def __repr__(self) -> str:
        return f"<project {self.name}: {', '.join((*self.products, *self.streams))}>"


def _session(spec: ProjectSpec) -> SparkSession:
    """Return the active session, or open one that suits a project."""
    from joinery.spark.session import session_for

    return session_for(spec)


@suggesting
def load(path: str | Path, *, settings: str | Iterable[str] = ()) -> Project:
    """Return the project that a file, or a folder of them, declares.

    Args:
        path: The file or the folder.
        settings: `dotted.key=value` in place of what it says, as `--set` of the command line;
            one, or several.

    Raises:
        ProjectErrors: With every problem and its place.
    """
    return Project.of(load_spec(_path(path), settings=_texts(settings)))


def _path(given: object) -> str | Path:
    """Return what was given as a path, which it has to be."""
    if isinstance(given, str | Path):
        return given
    message = f"a path cannot be of type {type(given).__name__}"
    hint = 'Write jn.load("joinery.yaml").'
    raise SpecError(message, code="SPEC_SHAPE", hint=hint)


def _texts(given: Any) -> list[str]:
    """Return the settings that were given, one text or several."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    found: list[str] = []
    for each in given if several else [given]:
        if not isinstance(each, str):
            message = f"a setting cannot be of type {type(each).__name__}"
            hint = 'Write settings="run.trigger=5s".'
            raise SpecError(message, code="SPEC_SHAPE", hint=hint)
        found.append(each)
    return found


def project_of(given: ProjectLike) -> Project:
    """Return the project that is given in one of the ways in which calls take it.

    Raises:
        ProjectErrors: A file has problems.
        SpecError: It is none of them.

    Example:
        >>> project_of(5)
        Traceback (most recent call last):
        ...
        joinery.errors.SpecError: SPEC_SHAPE an object of type int is not a project
        hint: Pass jn.load("joinery.yaml"), its path, or an app.
    """
    if isinstance(given, Project):
        return given
    if isinstance(given, str | Path):
        return load(given)
    found = getattr(given, "project", None)  # of an App, whose module imports this one
    if isinstance(found, Project):
        return found
    raise SpecError(
        f"an object of type {type(given).__name__} is not a project",
        code="SPEC_SHAPE",
        hint='Pass jn.load("joinery.yaml"), its path, or an app.',
    )


_Kind = TypeVar("_Kind")


def _all_of(
    kind: type[_Kind] | tuple[type[_Kind], ...], given: object, name: str, maker: str
) -> list[_Kind]:
    """Return what a call was given as a list of objects of a kind, or of some.

    Raises:
        SpecError: It is not a list, or holds something else.
    """
    found: list[Any] = [given]
    if isinstance(given, Iterable) and not isinstance(given, str | Mapping):
        found = list(given)
    wrong = [each for each in found if not isinstance(each, kind)]
    if not wrong:
        return found
    what = type(wrong[0]).__name__
    raise SpecError(
        f'"{name}" needs a list of what {maker} makes, not an object of type {what}',
        code="SPEC_SHAPE",
        hint=f"Write {name}=[{maker}(…)].",
    )


def _distinct(relations: Iterable[RelationSpec]) -> list[RelationSpec]:
    """Return each relation once; two different ones of one name are refused."""
    known: dict[str, RelationSpec] = {}
    for each in relations:
        if known.setdefault(each.name, each) != each:
            raise ProjectErrors((_twice("relation", each.name),))
    return list(known.values())


def _products(documents: Iterable[Document]) -> list[ProductSpec]:
    known: dict[str, ProductSpec] = {}
    for each in documents:
        if known.setdefault(each.spec.name, each.spec) is not each.spec:
            raise ProjectErrors((_twice("product", each.spec.name),))
    return list(known.values())


def _twice(kind: str, name: str) -> SpecError:
    return SpecError(f'there are two {kind}s named "{name}"', code="SPEC_DUPLICATE_KEY")


class _LazySpark:
    """An analyser that imports Spark when an expression first needs it.

    It asks the session that was given last, else the active one, and starts none.
    """

    def __init__(self, session: SparkSession | None = None) -> None:
        self._session = session

    def type_of(self, sql: str, scope: Mapping[str, DataType]) -> DataType:
        """Return the type that Spark gives an expression."""
        from joinery.spark.session import ActiveAnalyser

        return ActiveAnalyser(self._session).type_of(sql, scope)
