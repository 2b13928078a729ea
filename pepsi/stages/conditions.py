"""Conditions on a message: a small language of its own, so that nothing in a configuration file is ever evaluated.

    condition  = both { "or" both }
    both       = negation { "and" negation }
    negation   = "not" negation | "(" condition ")" | statement
    statement  = ( "any" | "all" ) term test term | term [ test term ]
    test       = "==" | "!=" | "<" | "<=" | ">" | ">=" | [ "not" ] ( "in" | "contains" | "matches" )
    term       = field | "state" { "." ( word | text ) } | text | number [ unit ] | "true" | "false" | list
    list       = "[" [ item { "," item } ] "]"
    item       = text | number [ unit ]

Fields are ``mail_from``, ``sender_domain``, ``recipients``, ``recipient_domains``, ``header_from``, ``subject``,
``size`` (bytes), ``peer`` and ``auth_login``; what a message does not have is the empty text. ``state.a.b`` is a key of
the message's state. A term alone holds when it is something: a text or a list that is not empty, a number other than 0,
true. ``any`` and ``all`` try the items of a list one by one; of an empty list neither holds. ``matches`` takes a
pattern with ``*`` and ``?``, or a list of them. ``peer in [...]`` takes addresses and networks. Texts stand in double
or single quotes, and are compared without regard to case. Sizes take the units of the configuration file: ``64 MiB``.

    sender_domain in ["example.org", "example.net"] and not any recipients matches "*@lists.example.org"
    size > 10 MiB or state.spam.score >= 5

Whatever is wrong is found when a condition is read, with the column; a condition that was read never raises.
"""

from dataclasses import dataclass

from pepsi.config.kind import Kind
from pepsi.config.option import Option
from pepsi.config.values import parse_size
from pepsi.model.message import Message
from pepsi.stages.condition.networks import PeerWithin, networks
from pepsi.stages.condition.nodes import Both, Comparison, Either, Negation, Node, OfItems, Something
from pepsi.stages.condition.operators import COMPARISONS, WORDS, Operator
from pepsi.stages.condition.terms import FIELDS, Literal, Scalar, StateKey, Term, Type
from pepsi.stages.condition.tokens import ConditionError, Token, tokens
from pepsi.stages.condition.tokens import Kind as Is

__all__ = ["Condition", "ConditionError", "condition", "parse"]

NESTING_LIMIT = 50
"""How deep parentheses and ``not`` may stand in each other."""

_TRUTHS = {"true": True, "false": False}
_RESERVED = frozenset(("and", "or", "not", "any", "all", *WORDS, *_TRUTHS))


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that was read. ``str()`` of it is its text."""

    text: str
    root: Node

    def __str__(self) -> str:
        return self.text

    def holds(self, message: Message) -> bool:
        """Whether it is so for *message*. Never raises."""
        return self.root.holds(message)


def parse(text: str) -> Condition:
    """Read a condition. Raises ConditionError, which names the column and the mend."""
    return Condition(text, _Parser(tokens(text)).whole())


def _option(text: str) -> Condition:
    try:
        return parse(text)
    except ConditionError as error:
        raise ValueError(f"expected a condition: {error}") from None


condition: Option[Condition] = Option(
    Kind(name="condition", syntax='A condition on the message, as in size > 10 MiB or mail_from == "".', parse=_option)
)
"""Declares a key of a stage's section whose value is a condition."""


class _Parser:
    """Recursive descent over the tokens of one condition."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        condition = self._condition()
        if self._next.kind is not Is.END:
            raise self._expected("'and', 'or' or the end")
        return condition

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.kind is not Is.END
        return token

    def _took(self, kind: Is, *texts: str) -> Token | None:
        return self._take() if self._next.kind is kind and self._next.text in texts else None

    def _took_word(self, *words: str) -> Token | None:
        return self._took(Is.WORD, *words)

    def _took_sign(self, *signs: str) -> Token | None:
        return self._took(Is.SIGN, *signs)

    def _expect_sign(self, sign: str, opened: Token) -> None:
        if not self._took_sign(sign):
            raise self._expected(f"'{sign}' for the '{opened.text}' of column {opened.column}")

    def _expected(self, what: str) -> ConditionError:
        return ConditionError(self._next.column, f"expected {what}, not {self._next}")

    def _condition(self) -> Node:
        parts = [self._both()]
        while self._took_word("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self) -> Node:
        parts = [self._negation()]
        while self._took_word("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _negation(self) -> Node:
        opened = self._took_word("not") or self._took_sign("(")
        if opened is None:
            return self._statement()
        self._depth += 1
        if self._depth > NESTING_LIMIT:
            raise ConditionError(opened.column, f"more than {NESTING_LIMIT} deep; split it over several stages")
        if opened.kind is Is.WORD:
            inner: Node = Negation(self._negation())
        else:
            inner = self._condition()
            self._expect_sign(")", opened)
        self._depth -= 1
        return inner

    def _statement(self) -> Node:
        quantifier = self._took_word("any", "all")
        if quantifier is not None:
            return self._of_items(quantifier)
        left = self._term()
        operator = self._operator()
        if operator is None:
            if isinstance(left, Literal) and left.type is not Type.TRUTH:
                raise self._expected(f"a test, for {left.name} alone says nothing")
            return Something(left)
        right_at = self._next.column
        right = self._operand(left.type, left, operator)
        if left is FIELDS["peer"] and operator.name == "in" and isinstance(right, Literal):
            return _peer_within(right, right_at, operator)
        return Comparison(left, operator.test, right)

    def _of_items(self, quantifier: Token) -> Node:
        start = self._next
        left = self._term()
        if isinstance(left, Literal) or not left.type.fits(Type.LIST):
            raise ConditionError(start.column, f"'{quantifier.text}' needs a list, such as recipients")
        operator = self._operator()
        if operator is None:
            raise self._expected(f"a test for the items of {left.name}")
        item_type = Type.TEXT if left.type is Type.LIST else Type.ANY
        return OfItems(quantifier.text == "all", left, operator.test, self._operand(item_type, left, operator))

    def _operator(self) -> Operator | None:
        sign = self._took_sign(*COMPARISONS)
        if sign is not None:
            return Operator(sign.text, False, sign.column)
        negated = self._took_word("not")
        word = self._took_word(*WORDS)
        if word is not None:
            return Operator(word.text, negated is not None, word.column)
        if negated is not None:
            raise self._expected("'in', 'contains' or 'matches' after 'not'")
        return None

    def _operand(self, left_type: Type, left: Term, operator: Operator) -> Term:
        """Read what stands right of *operator*, and see that the two can be compared at all."""
        at = self._next.column
        right = self._term()
        complaint = operator.complaint(left_type, left, right)
        if complaint is not None:
            raise ConditionError(operator.column if complaint.startswith("'") else at, complaint)
        return right

    def _term(self) -> Term:
        token = self._take()
        match token.kind:
            case Is.TEXT | Is.NUMBER:
                literal, type_ = self._scalar(token)
                return Literal(literal, type_)
            case Is.SIGN if token.text == "[":
                return self._list(token)
            case Is.WORD if token.text in _TRUTHS:
                return Literal(_TRUTHS[token.text], Type.TRUTH)
            case Is.WORD if token.text == "state":
                return self._state_key()
            case Is.WORD if token.text in FIELDS:
                return FIELDS[token.text]
            case Is.WORD if token.text not in _RESERVED:
                known = ", ".join((*FIELDS, "state.KEY"))
                raise ConditionError(
                    token.column, f"no field is called {token}; there are {known}; texts stand in quotes"
                )
            case _:
                raise ConditionError(token.column, f"expected a field, a text or a number, not {token}")

    def _state_key(self) -> StateKey:
        path: list[str] = []
        while self._took_sign("."):
            token = self._take()
            if token.kind not in (Is.WORD, Is.TEXT):
                raise ConditionError(token.column, f"expected a key of the state after '.', not {token}")
            path.append(token.text)
        if not path:
            raise self._expected("'.' and a key after 'state'")
        return StateKey(tuple(path))

    def _list(self, opened: Token) -> Literal:
        found: list[Scalar] = []
        while not self._took_sign("]"):
            token = self._take()
            if token.kind not in (Is.TEXT, Is.NUMBER):
                raise ConditionError(token.column, f"expected a text, a number or ']' in the list, not {token}")
            found.append(self._scalar(token)[0])
            if not self._took_sign(","):
                self._expect_sign("]", opened)
                break
        return Literal(tuple(found), Type.LIST)

    def _scalar(self, token: Token) -> tuple[Scalar, Type]:
        if token.kind is Is.TEXT:
            return token.text, Type.TEXT
        if self._next.kind is not Is.WORD or self._next.text in _RESERVED:
            return (float(token.text) if "." in token.text else int(token.text)), Type.NUMBER
        unit = self._take()
        try:
            return parse_size(f"{token.text} {unit.text}"), Type.NUMBER
        except ValueError as error:
            raise ConditionError(unit.column, f"{unit} is no unit: {error}") from error


def _peer_within(right: Literal, column: int, operator: Operator) -> Node:
    texts = right.literal if isinstance(right.literal, tuple) else ()
    try:
        inside: Node = PeerWithin(networks([str(text) for text in texts]))
    except ValueError as error:
        raise ConditionError(column, f"peers are addresses and networks: {error}") from error
    return Negation(inside) if operator.negated else inside
