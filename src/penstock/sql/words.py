"""What statements are made of: names, lists, words that must come, and queries and conditions of a safe depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import Span
from penstock.sql.dialect import QueryParser
from penstock.sql.syntax import Name, Names, Tree

T = TypeVar("T")

#: The passes over a query recurse into it; this depth is safe for all of them, wherever they are called from.
MOST_LEVELS = 150


class WordParser(QueryParser):
    """The small pieces of our grammar. A name with an underscore moves over tokens, or looks at them."""

    #: Where the statement begins.
    _first: Token

    def read_names(self) -> Names:
        """`(a, b)`, or just `a`."""
        if not self._match(TokenType.L_PAREN):
            return (self.read_name("a column's name"),)
        names = self._separated(lambda: self.read_name("a column's name"))
        self._expect(TokenType.R_PAREN, ")")
        return names

    def read_name(self, what: str) -> Name:
        token = self._curr
        if not self._is_name_token(token):
            is_word = bool(token) and token.text.isidentifier() and token.token_type is not TokenType.STRING
            self.fault(f"expected {what}", f"in backquotes it may be a name: `{token.text}`" if is_word else None)
        self._advance()
        if self._match(TokenType.DOT, advance=False):
            self.fault("names have one part here", "there are no databases or catalogs to name")
        return Name(token.text, token_span(token), token.token_type is TokenType.IDENTIFIER)

    def read_query(self, what: str) -> Tree:
        start = self._curr
        if not self._at_query():
            self.fault(f"expected {what}, which starts with SELECT")
        query = self._parse_select(nested=True)
        query = self._parse_query_modifiers(self._parse_set_operations(query))
        if not isinstance(query, exp.Query):
            self.fault(f"expected {what}, which starts with SELECT")
        self._refuse_depth(query, start)
        return query

    def _at_query(self) -> bool:
        starts = (TokenType.SELECT, TokenType.L_PAREN, TokenType.WITH)
        return bool(self._curr) and self._curr.token_type in starts

    def read_predicate(self, after: str) -> Tree:
        start = self._curr
        predicate = self._parse_disjunction()
        if predicate is None:
            self.fault(f"expected a condition after {after}")
        self._refuse_depth(predicate, start)
        return predicate

    def _refuse_depth(self, tree: Tree, start: Token) -> None:
        if _levels(tree) > MOST_LEVELS:
            self.fault(f"this is nested too deeply: {MOST_LEVELS} levels are the most", "split it with views", start)

    def _take_word(self, what: str) -> str:
        token = self._curr
        if not token or token.token_type in (TokenType.COMMA, TokenType.R_PAREN, TokenType.L_PAREN):
            self.fault(f"expected {what}")
        self._advance()
        return token.text

    def _is_name_token(self, token: Token | None) -> bool:
        return (
            token is not None
            and bool(token)
            and (token.token_type is TokenType.IDENTIFIER or token.token_type in self.ID_VAR_TOKENS)
        )

    def _is_start(self, word: str, following: str | TokenType) -> bool:
        token, after = self._curr, self._next
        if not token or not after or token.token_type is TokenType.IDENTIFIER or token.text.upper() != word:
            return False
        if isinstance(following, TokenType):
            return after.token_type is following
        return bool(after.text.upper() == following)

    def _separated(self, parse: Callable[[], T]) -> tuple[T, ...]:
        items = [parse()]
        while self._match(TokenType.COMMA):
            items.append(parse())
        return tuple(items)

    def _expect(self, kind: TokenType, text: str, hint: str | None = None) -> None:
        if not self._match(kind):
            self.fault(f"expected {text}", hint)

    def _expect_words(self, word: str) -> None:
        if not self._match_text_seq(word):
            self.fault(f"expected {word}")

    def _unexpected(self, hint: str) -> None:
        self.fault(f"{self._curr.text} is not expected here", hint)

    def _span(self, start: Token | None = None) -> Span:
        first = start or self._first
        return Span(first.start, self._prev.end + 1)


def token_span(token: Token) -> Span:
    return Span(token.start, token.end + 1)


def _levels(tree: Tree) -> int:
    """How deep a tree is, where a chain of AND, OR or || is one level."""
    deepest, trees = 0, [(tree, 1)]
    while trees:
        node, level = trees.pop()
        deepest = max(deepest, level)
        for part in node.iter_expressions():
            in_chain = type(part) is type(node) and isinstance(node, (exp.And, exp.Or, exp.DPipe))
            trees.append((part, level if in_chain else level + 1))
    return deepest
