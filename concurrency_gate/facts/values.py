"""What an expression may stand for.

Values are small, immutable and hashable; an expression evaluates to an ordered tuple of them, empty when
nothing is known. Project functions and classes are carried by the `Function` and `Class` objects of their
module (compared by identity), names from outside the project by their dotted name.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from .modules import Class, Function, Module


@dataclass(frozen=True, slots=True)
class External:
    """Something outside the project, by its canonical dotted name. `receiver` is the instance that a method
    was read from, so that what the method returns can be typed by it."""

    name: str
    receiver: Value | None = None


@dataclass(frozen=True, slots=True)
class Object:
    """An instance of an external type. `item` is the type's parameter (a queryset's model, a list's element);
    `runs` is the project function that calling the object runs (a Celery task). `name` is where a module
    keeps it: two signals are told apart by that."""

    type: str
    item: Value | None = None
    runs: Value | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class ModuleValue:
    """A module of the project."""

    module: Module


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A project function, with what it is bound to and the frame it closes over. `plain` marks a static
    method, `manager` one that `contextlib.contextmanager` turned into a context manager."""

    function: Function
    receiver: Value | None = None
    closure: Frame | None = None
    role: str = ""


@dataclass(frozen=True, slots=True)
class ClassValue:
    """A project class."""

    cls: Class


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a project class: of exactly this class, or of this class and those below it. `init` is
    the frame of the constructor that made it, where that says more than the class does; `item` what it holds,
    where its class derives from a library's collection (a queryset's model); `row` what is known of the row that
    it stands for."""

    cls: Class
    exact: bool = False
    init: Frame | None = None
    item: Value | None = None
    row: Row | None = None
    told: tuple[Frame, ...] = ()
    """The calls by which the function that made it handed it what it keeps: callbacks, steps."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: a `new` one, which its first save inserts, or one that was read; None where it may be either.
    `unset` are the columns that are empty, with what they hold; those that the save will fill are among them, and
    `early` says that it has not yet. `own` says that the library has made the object itself, and nobody has put
    anything on it; `put` are the attributes that were assigned to the object since it was made or read, with what
    they hold, or None where that is not known. `filled` are columns that are not empty, whatever they hold."""

    new: bool | None
    unset: tuple[tuple[str, Constant], ...] = ()
    early: bool = False
    own: bool = False
    put: tuple[tuple[str, Constant | None], ...] | None = None
    filled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Super:
    """`super()`: look up in the receiver's classes behind `after`."""

    after: Class
    receiver: Value


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, None, True or False."""

    value: str | bool | None


@dataclass(frozen=True, slots=True)
class Something:
    """Anything but None: all that matters of an optional argument that is given."""


SOMETHING = Something()


@dataclass(frozen=True, slots=True)
class Partial:
    """A callable with some arguments bound: `functools.partial`."""

    target: Value
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Collection:
    """A list, tuple, set or dict of which the elements are known. `keys` runs beside `items` for a dict (None
    where a key is not a known string); `fixed` says that positions count."""

    items: tuple[Values, ...]
    keys: tuple[str | None, ...] | None = None
    fixed: bool = False
    depth: int = field(init=False, repr=False, compare=False)
    """How deep frames nest in the elements."""
    levels: int = field(init=False, repr=False, compare=False)
    """How deep collections nest, this one included."""
    answers: dict[Hashable, bool] = field(init=False, repr=False, compare=False, default_factory=dict)
    """What was asked of all that is in it, and found."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if any(_is_deep(value) for values in self.items for value in values):
            shallow = tuple(tuple(v for v in values if not _is_deep(v)) for values in self.items)
            object.__setattr__(self, "items", shallow)
        depth = max((value_depth(value) for values in self.items for value in values), default=0)
        inner = [v.levels for values in self.items for v in values if isinstance(v, Collection)]
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "levels", 1 + max(inner, default=0))
        object.__setattr__(self, "_hash", hash((self.items, self.keys, self.fixed)))

    # collections nest: hashing all of one at each look-up would take most of a run
    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Collection)
            and self._hash == other._hash
            and self.fixed == other.fixed
            and self.keys == other.keys
            and self.items == other.items
        )


@dataclass(frozen=True, slots=True)
class Suspended:
    """What calling a generator, a coroutine function or a context manager function gives: the body has not
    run yet. `kind` is "generator", "coroutine" or "manager"."""

    kind: str
    frame: Frame


Value = (
    External
    | Object
    | ModuleValue
    | FunctionValue
    | ClassValue
    | Instance
    | Super
    | Constant
    | Something
    | Partial
    | Collection
    | Suspended
)
Values = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Arguments:
    """The evaluated arguments of a call; `rest` holds what `*args` hands on where its length is not known."""

    positional: tuple[Values, ...] = ()
    keywords: tuple[tuple[str, Values], ...] = ()
    rest: Values = ()
    opaque: bool = False

    def keyword(self, name: str) -> Values:
        return next((values for key, values in self.keywords if key == name), ())


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """One way of running a function: its receiver, the arguments that matter, and the frame around it.

    Frames are interned by the resolver, so identity is equality."""

    function: Function
    receiver: Value | None = None
    arguments: tuple[tuple[str, Values], ...] = ()
    closure: Frame | None = None
    depth: int = 0

    def argument(self, name: str) -> Values | None:
        for key, values in self.arguments:
            if key == name:
                return values
        return None


@dataclass(frozen=True, slots=True)
class Place:
    """An expression together with where it stands, for facts that are evaluated later."""

    node: ast.expr
    module: Module = field(repr=False)


LEVELS = 4
"""How deep collections may nest; what would lie deeper is left out. A recursive function that builds trees would
otherwise give as many values, each a way of calling itself, as there are trees."""


def _is_deep(value: Value) -> bool:
    return isinstance(value, Collection) and value.levels >= LEVELS


CAP = 24
"""The most values an expression keeps. More means that the type says nothing."""


def union(*groups: Values) -> Values:
    """All values of all groups, in order, each once."""
    if len(groups) == 1:
        return groups[0]
    return tuple(dict.fromkeys(value for group in groups for value in group))[:CAP]


def one_of(*groups: Values) -> Values:
    """What comes out of one of several ways. Where nothing is known of one of them, None, True and False are left out:
    what is sure to be None decides which branches run."""
    found = union(*groups)
    if all(groups):
        return found
    return tuple(v for v in found if not isinstance(v, Constant) or isinstance(v.value, str))


def value_depth(value: Value) -> int:
    """How deep frames nest inside a value."""
    if isinstance(value, Instance):
        made = (*value.told, value.init) if value.init is not None else value.told
        return max(_depth(value.item), *(frame.depth + 1 for frame in made), 0)
    if isinstance(value, Suspended):
        return value.frame.depth + 1
    if isinstance(value, Collection):
        return value.depth
    if isinstance(value, FunctionValue):
        return max(_depth(value.receiver), value.closure.depth if value.closure else 0)
    if isinstance(value, Object):
        return max(_depth(value.item), _depth(value.runs))
    if isinstance(value, (External, Super)):
        return _depth(value.receiver)
    if isinstance(value, Partial):
        given = value.arguments
        handed = (*given.positional, *(values for _, values in given.keywords), given.rest)
        return max(_depth(value.target), *(value_depth(each) for values in handed for each in values), 0)
    return 0


def _depth(value: Value | None) -> int:
    return value_depth(value) if value is not None else 0
