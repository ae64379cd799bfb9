"""Mutations of C++ sources: small changes that a good test suite notices.

Each mutation is one change at one place: a comparison that is flipped, a fence or an ordering of memory that is dropped,
a statement that is skipped, a condition that is negated, a number that is off by one.
"""

import re
from dataclasses import dataclass

# What is no code, so that nothing in it is mutated: comments, strings, characters, lines of the preprocessor.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
                      r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Mutation:
    """One change: `text[begin:end]` becomes `replacement`."""
    kind: str
    begin: int
    end: int
    replacement: str

    def apply(self, text):
        return text[: self.begin] + self.replacement + text[self.end :]

    def line(self, text):
        return text.count("\n", 0, self.begin) + 1

    def describe(self, text):
        before = " ".join(text[self.begin : self.end].split())
        return f"`{before}` becomes `{self.replacement.strip() or 'nothing'}`"


FLIPPED = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}

# Each rule: its name, where it applies, and what the place becomes.
RULES = [
    ("comparison", re.compile(r"(?<= )(==|!=|<=|>=|<|>)(?= )"), lambda match: FLIPPED[match.group(1)]),
    ("condition", re.compile(r"(?<= )(&&|\|\|)(?= )"), lambda match: "||" if match.group(1) == "&&" else "&&"),
    ("negation", re.compile(r"(?<=\()!(?=[a-z_])"), lambda match: ""),
    ("off by one", re.compile(r"(?<= )([+-]) 1(?=[;,) ])"), lambda match: match.group(1) + " 2"),
    ("memory order", re.compile(r"std::memory_order_(acquire|release|acq_rel|seq_cst)"),
     lambda match: "std::memory_order_relaxed"),
    ("fence", re.compile(r"\b(full_fence\(\)|std::atomic_thread_fence\([^;]*\));"), lambda match: ";"),
    # A whole statement on one line that calls something; declarations, returns and control flow stay.
    ("skipped statement",
     re.compile(r"(?<=\n)( +)(?!return|if|for|while|else|case|default|break|continue|using|const|auto|static|throw|goto)"
                r"((?:[a-z_][\w]*(?:\.|->|::))*[a-z_]\w*\([^;\n]*\)|[a-z_][\w.\->\[\]]* [+\-|&]?= [^;\n]+);(?=[^\S\n]*\n)"),
     lambda match: match.group(1) + ";"),
]


def mutations(text):
    """All mutations of a source, by place."""
    blank = NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    found = []
    for kind, pattern, replacement in RULES:
        for match in pattern.finditer(blank):
            if kind == "comparison" and is_template(blank, match.start()):
                continue
            found.append(Mutation(kind, match.start(), match.end(), replacement(match)))
    return sorted(found, key=lambda mutation: (mutation.begin, mutation.kind))


def is_template(text, position):
    """Whether an angle bracket between blanks belongs to a list of template arguments."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line.lstrip().startswith("template")
