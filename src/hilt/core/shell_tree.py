"""The simple commands of a shell text, found in its syntax tree wherever they stand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from hilt.core.shell_word import Word, source_of, word_of

_LANGUAGE: Final = Language(tree_sitter_bash.language())

COMMANDS_MAX: Final = 300

# The parser takes a `#` behind an escaped blank for a comment; the shell takes it for a part of the word.
_COMMENT_START: Final = re.compile(rb"(?:^|(?<!\\)[ \t\n;])\Z")

_COMMANDS: Final = frozenset({"command", "declaration_command", "unset_command", "test_command", "variable_assignment"})
# Whatever else occurs is no part of the language that is understood.
_KNOWN_NAMES: Final = """
    program list pipeline redirected_statement negated_command subshell compound_statement if_statement
    elif_clause else_clause while_statement for_statement do_group case_statement case_item
    function_definition variable_assignments command_name word number string string_content raw_string concatenation
    simple_expansion expansion variable_name special_variable_name command_substitution file_redirect
    file_descriptor comment extglob_pattern unary_expression binary_expression test_operator
    negation_expression parenthesized_expression
"""
_KNOWN: Final = _COMMANDS | frozenset(_KNOWN_NAMES.split())


@dataclass(slots=True)
class Command:
    """One simple command: assignments before the name, the words, files that its output goes to."""

    assignments: list[Word] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    unclear: str = ""


@dataclass(slots=True)
class Script:
    """The commands of a text in the order in which they stand, and why it may be unclear."""

    commands: list[Command] = field(default_factory=list)
    unclear: str = ""


def read_script(source: str) -> Script:
    """Parse a text; what the parser stumbles over makes it unclear but hides no command it found."""
    text = source.encode("utf-8", "replace")
    tree = Parser(_LANGUAGE).parse(text)
    script = Script()
    if tree.root_node.has_error:
        script.unclear = "it is no complete shell command"
    redirects: dict[int, list[Node]] = {}
    stack = [tree.root_node]
    while stack:
        node = stack.pop()
        if node.is_named and node.type not in _KNOWN:
            script.unclear = script.unclear or f"it has a {node.type.replace('_', ' ')}"
        if node.type == "comment" and not _COMMENT_START.search(text[: node.start_byte]):
            script.unclear = script.unclear or "it has a # that may belong to a word"
        _visit(node, script, redirects)
        if len(script.commands) > COMMANDS_MAX:
            script.unclear = "it has too many commands"
            break
        stack.extend(reversed(node.children))
    return script


def _visit(node: Node, script: Script, redirects: dict[int, list[Node]]) -> None:
    """Note the commands that begin at this node."""
    kind = node.type
    if kind == "redirected_statement":
        _hand_down(node, redirects)
    elif kind == "file_redirect" and node.id not in redirects:
        command = Command()
        _redirect(node, command)
        if command.writes or command.unclear or command.words:
            script.commands.append(command)
    elif kind in _COMMANDS and not _is_part(node):
        command = _command(node, redirects)
        for redirect in redirects.pop(node.id, ()):
            _redirect(redirect, command)
        script.commands.append(command)


def _is_part(node: Node) -> bool:
    """Tell whether an assignment belongs to a command that is noted by itself."""
    parent = node.parent
    return node.type == "variable_assignment" and parent is not None and parent.type in _COMMANDS


def _hand_down(node: Node, redirects: dict[int, list[Node]]) -> None:
    """Give the redirections of a statement to the command they belong to: the last of a list or pipeline."""
    own = [child for child in node.children if child.type == "file_redirect"]
    body = node.child_by_field_name("body")
    while body is not None and body.type in {"list", "pipeline", "negated_command", "redirected_statement"}:
        body = body.child_by_field_name("body") if body.type == "redirected_statement" else _last(body)
    if body is not None and body.type in _COMMANDS:
        redirects.setdefault(body.id, []).extend(own)
        redirects.update((redirect.id, []) for redirect in own)


def _last(node: Node) -> Node | None:
    named = node.named_children
    return named[-1] if named else None


def _command(node: Node, redirects: dict[int, list[Node]]) -> Command:
    if node.type == "test_command":
        return _test(node)
    command = Command()
    if node.type == "variable_assignment":
        command.assignments.append(word_of(node))
        return command
    named = False
    for child in node.children:
        kind = child.type
        if kind == "file_redirect":
            redirects[child.id] = []
            _redirect(child, command)
        elif kind == "variable_assignment" and not named and node.type == "command":
            command.assignments.append(word_of(child))
        elif kind != "comment":
            named = True
            command.words.append(word_of(child))
    return command


def _test(node: Node) -> Command:
    """Read `[ ... ]` as the words it is made of."""
    words = [word_of(leaf) for leaf in _operands(node)]
    return Command(words=words)


def _operands(node: Node) -> Iterator[Node]:
    """Return the words of a test in order; expressions nest, words do not."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current is node or current.type.endswith("_expression"):
            stack.extend(reversed(current.children))
        else:
            yield current


def _redirect(node: Node, command: Command) -> None:
    """Note a file that output goes to; further words after it are arguments of the command."""
    operator = next((child.type for child in node.children if not child.is_named), "")
    descriptor = next((source_of(child) for child in node.children if child.type == "file_descriptor"), "")
    targets = [word_of(child) for child in node.children_by_field_name("destination")]
    if len(targets) != 1 and not operator.endswith("-"):
        command.unclear = "words follow a redirection"
        command.words.extend(targets[1:])
    for target in targets[:1]:
        text = target.text or ""
        if text.startswith(("/dev/tcp", "/dev/udp")) or (not target.fixed and "/dev/" in text):
            command.unclear = "a redirection opens a connection"
        if _is_write(operator, target):
            loose = None if target.fixed else f"{descriptor}{operator} {target.loose}"
            command.writes.append(Word(f"{descriptor}{operator} {text}", loose, target.odd))


def _is_write(operator: str, target: Word) -> bool:
    text = target.text or ""
    if ">" not in operator or (text == "/dev/null" and target.fixed):
        return False
    return not (operator.endswith("&") and target.fixed and (text.isdigit() or text == "-"))
