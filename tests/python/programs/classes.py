# SPDX-License-Identifier: GPL-3.0-or-later
"""Class bodies, metaclasses, descriptors, decorators, partials, lambdas: Python called by types."""
import functools
import sys

import truth


def crash():
    truth.record(sys._getframe(), WEAVE), truth.end()


class Meta(type):
    @classmethod
    def __prepare__(mcs, name, bases, **options):
        return {}

    def __new__(mcs, name, bases, space, **options):
        return super().__new__(mcs, name, bases, space)

    def __call__(cls, *args):
        return super().__call__(*args)


class Described:
    def __set_name__(self, owner, name):
        owner.late = functools.partial(Deep(), 1, two=2)
        owner.late()


class Deep:
    def __call__(self, *args, **options):
        return self.attribute

    @property
    def attribute(self):
        return (lambda: str(Shown()))()


class Shown:
    def __repr__(self):
        return "%r" % (Hashed() in {Hashed(): 1},)


class Hashed:
    def __hash__(self):
        return hash("x")

    def __eq__(self, other):
        with Context() as context:
            return context

    def __bool__(self):
        return wrapped(3)


class Context:
    def __enter__(self):
        return not Hashed()

    def __exit__(self, *exception):
        return None


def decorator(function):
    @functools.wraps(function)
    def wrapper(*args, **options):
        return function(*args, **options)

    return wrapper


@functools.lru_cache(maxsize=None)
@decorator
@decorator
def wrapped(n):
    return Outer.Inner().method()


class Outer:
    class Inner:
        def method(self):
            def local():
                class Dying:
                    crash()

            return local()


class Base(metaclass=Meta):
    def __init_subclass__(cls, **options):
        cls.inherited = True

    def __new__(cls, *args):
        return object.__new__(cls)

    def __init__(self, *args):
        class Used(Base, extra=1):
            described = Described()


WEAVE = [
    truth.END,
    "crash",
    "Dying",
    "@build_class",
    "local",
    "method",
    "wrapped",
    "wrapper",
    "wrapper",
    "@lru_cache",
    "__bool__",
    "__enter__",
    "__eq__",
    "@dict|lookdict|richcompare",
    "__repr__",
    "@str|repr",
    "<lambda>",
    "attribute",
    "?",
    "__call__",
    "@partial",
    "__set_name__",
    "@type_new|set_names",
    "__new__",
    "@build_class",
    "__init__",
    "__call__",
    "<module>",
    truth.MAIN,
]
Base(1)
