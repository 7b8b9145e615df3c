"""The part of JSON Schema that deploy/schema uses, so that tests need no package for it."""
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float)}


def breaches(root, value):
    """Every way in which `value` does not fit the schema `root`, as "path: reason"."""
    return list(check(root, root, value, "$"))


def check(root, rules, value, path):
    """A `$ref` may stand beside further rules."""
    for word, rule in rules.items():
        if word not in CHECKS:
            raise NotImplementedError(f"the schema word '{word}' is unknown to this test")
        found = CHECKS[word](root, rules, rule, value, path)
        yield from found or ()


def fits(root, rules, value):
    return not list(check(root, rules, value, ""))


def check_type(_root, _rules, rule, value, path):
    if not isinstance(value, TYPES[rule]) or (isinstance(value, bool) and rule != "boolean"):
        yield f"{path}: is no {rule}"


def check_ref(root, _rules, rule, value, path):
    target = root
    for part in rule.removeprefix("#/").split("/"):
        target = target[part]
    yield from check(root, target, value, path)


def check_properties(root, _rules, rule, value, path):
    for name, inner in rule.items() if isinstance(value, dict) else ():
        if name in value:
            yield from check(root, inner, value[name], f"{path}.{name}")


def check_additional(root, rules, rule, value, path):
    for name in value if isinstance(value, dict) else ():
        if name in rules.get("properties", {}):
            continue
        if rule is False:
            yield f"{path}.{name}: is not known"
        elif rule is not True:
            yield from check(root, rule, value[name], f"{path}.{name}")


def check_names(root, _rules, rule, value, path):
    for name in value if isinstance(value, dict) else ():
        yield from check(root, rule, name, f"{path}.{name}")


def check_required(_root, _rules, rule, value, path):
    for name in rule if isinstance(value, dict) else ():
        if name not in value:
            yield f"{path}.{name}: is missing"


def check_items(root, _rules, rule, value, path):
    for i, item in enumerate(value if isinstance(value, list) else ()):
        yield from check(root, rule, item, f"{path}[{i}]")


def check_one_of(root, _rules, rule, value, path):
    count = sum(fits(root, inner, value) for inner in rule)
    if count != 1:
        yield f"{path}: fits {count} of {len(rule)} alternatives, not one"


def check_any_of(root, _rules, rule, value, path):
    if not any(fits(root, inner, value) for inner in rule):
        yield f"{path}: fits none of {len(rule)} alternatives"


def check_not(root, _rules, rule, value, path):
    if fits(root, rule, value):
        yield f"{path}: fits what it must not"


def simple(kinds, holds, what):
    """A rule about values of some types, which `holds(value, rule)` decides."""
    def body(_root, _rules, rule, value, path):
        if isinstance(value, kinds) and not isinstance(value, bool) and not holds(value, rule):
            yield f"{path}: {what} {rule}"
    return body


def check_enum(_root, _rules, rule, value, path):
    if value not in rule:
        yield f"{path}: is none of {rule}"


def check_const(_root, _rules, rule, value, path):
    if value != rule:
        yield f"{path}: is not {rule}"


def annotation(*_):
    return ()


NUMBER = (int, float)
CHECKS = {
    "type": check_type, "$ref": check_ref, "properties": check_properties,
    "additionalProperties": check_additional, "propertyNames": check_names,
    "required": check_required, "items": check_items, "oneOf": check_one_of,
    "anyOf": check_any_of, "not": check_not, "enum": check_enum, "const": check_const,
    "pattern": simple(str, lambda v, r: re.search(r, v), "does not match"),
    "minLength": simple(str, lambda v, r: len(v) >= r, "is shorter than"),
    "maxLength": simple(str, lambda v, r: len(v) <= r, "is longer than"),
    "minItems": simple(list, lambda v, r: len(v) >= r, "has fewer items than"),
    "maxItems": simple(list, lambda v, r: len(v) <= r, "has more items than"),
    "minProperties": simple(dict, lambda v, r: len(v) >= r, "has fewer fields than"),
    "maxProperties": simple(dict, lambda v, r: len(v) <= r, "has more fields than"),
    "minimum": simple(NUMBER, lambda v, r: v >= r, "is below"),
    "maximum": simple(NUMBER, lambda v, r: v <= r, "is above"),
    "exclusiveMinimum": simple(NUMBER, lambda v, r: v > r, "is not above"),
    "$schema": annotation, "$defs": annotation, "title": annotation, "description": annotation,
    "default": annotation,
}
