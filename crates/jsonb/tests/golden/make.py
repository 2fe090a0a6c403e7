#!/usr/bin/env python3
"""Makes documents.tsv: JSON texts, and what a PostgreSQL server stores and prints for them.

    make.py PSQL... [-- SAMPLE.jsonl ...] > documents.tsv

PSQL... is a command running psql as superuser on a throwaway database; of each sample file a few
documents are taken. Columns: JSON text, hex of the jsonb without varlena header, jsonb's text. The
bytes come from the server itself, through a binary-coercible cast from jsonb to bytea.
"""
import json
import random
import subprocess
import sys


def numbers():
    yield from "0 -0 0.0 -0.00 1 -1 9 10 99 100 9999 10000 -10000 99999999 100000000".split()
    yield from "1.10 1.1 0.1 0.01 0.001 0.0001 0.00001 0.000100 -0.00010001 12345.6789 1234.56789".split()
    yield from "1e2 1E2 1e+2 1.5e-3 1.50e1 1.5e1 1.5e0 0e10 0.0e1 0e-3 0e-70 1e-5 12e-5 1e10 1.25e6".split()
    yield from "10000.0001 100000000.00000001 0.99999999 1000000.000 7000e-3".split()
    for bits in (31, 32, 53, 63, 64, 127):
        for near in (-1, 0, 1):
            yield str(2**bits + near)
            yield str(-(2**bits) + near)
            yield f"{2**bits + near}e-3"
    for zeros in (15, 16, 17, 62, 63, 64, 65, 250, 256, 257, 260):
        yield "1" + "0" * zeros
        yield "-" + "7" * zeros
        yield "0." + "0" * zeros + "1"
        yield "1." + "0" * zeros
        yield f"1e{zeros}"
        yield f"-3.7e-{zeros}"
    yield "1" + "0" * 4400  # more than the tokenizer takes
    yield "1e-4400"
    yield "0." + "0" * 251 + "1" + "0" * 4
    yield "0." + "1" * 63
    yield "0." + "1" * 64
    rng = random.Random(1)
    for _ in range(150):
        digits = "".join(rng.choice("0000123456789") for _ in range(rng.randint(1, 30)))
        digits = digits.lstrip("0") or "0"
        if rng.random() < 0.6:
            digits += "." + "".join(rng.choice("00099123456") for _ in range(rng.randint(1, 25)))
        if rng.random() < 0.3:
            digits += rng.choice("eE") + rng.choice(["", "+", "-"]) + str(rng.randint(0, 30))
        yield rng.choice(["", "-"]) + digits


def strings():
    yield from ["", "a", "ab", "abc", "abcd", "käse", "日本語", "😀", "\u007f\u0080\uffff", "/\\\"", "\b\f\n\r\t\x01\x1f"]
    yield "long " * 60
    yield '"\\u00e9\\ud83d\\ude00\\/\\u0041\\u001f\\u007f"'  # already JSON, with escapes


def documents():
    yield from ["null", "true", "false", "[]", "{}", " [ ] ", ' { } ', "[[]]", "[{}]", '{"":{}}', '{"a":[]}', '{"a":{"b":[{}]}}']
    yield from numbers()
    for string in strings():
        yield string if string.startswith('"\\u') else json.dumps(string, ensure_ascii=False)
        yield json.dumps(string)if not string.startswith('"\\u') else f'{{{string}:{string}}}'
    some = list(numbers())
    rng = random.Random(2)
    # The stride of stored offsets, with and without alignment padding, in arrays and objects.
    for count in (1, 16, 17, 31, 32, 33, 64, 65, 97):
        yield "[" + ",".join(["1"] * count) + "]"
        yield "[" + ",".join(json.dumps("x" * (i % 5)) for i in range(count)) + "]"
        yield "[" + ",".join(rng.choice(['"abc"', "1.5", "null", "true", "[]", "{}", '[1,"x"]', '{"k":"v"}']) for _ in range(count)) + "]"
        yield "{" + ",".join(f'"k{i}":{rng.choice([i, chr(34) * 2, "null", "false", "[]", "[[1]]"])}' for i in range(count)) + "}"
        yield "{" + ",".join(f'"{"y" * (i % 7)}{i}":"{"z" * (i % 3)}"' for i in range(count)) + "}"
    yield '{"b":1,"a":2,"aa":3,"":4,"B":5,"ab":6,"é":7,"c":8}'
    yield '{"a":1,"a":2,"b":{"c":1,"c":[2],"c":"3"},"a":[3]}'
    yield '{"z":{"q":1,"p":2},"y":[{"q":1,"p":2}],"z":{"p":1}}'
    yield "[" * 40 + "]" * 40
    yield '{"a":' * 40 + "1" + "}" * 40
    yield '[{"k":"' + "x" * 3 + '","v":' * 1 + "[1.5," * 40 + "null" + "]" * 40 + "}]"
    nested = '"s"'
    for depth in range(40):
        nested = f'{{"key{depth}":{nested},"n":{some[depth]}}}' if depth % 2 else f'["{"p" * (depth % 4)}",{nested},true]'
    yield nested

    def any_value(depth):
        kind = rng.randint(0, 8 if depth else 5)
        if kind <= 1:
            return rng.choice([number for number in some if len(number) < 40])
        if kind <= 3:
            return json.dumps("".join(rng.choice("ab é\"\\\n0") for _ in range(rng.randint(0, 9))))
        if kind <= 5:
            return rng.choice(["null", "true", "false"])
        count = rng.choice([0, 1, 2, 3, 3, 4, 8, 33 if depth == 3 else 2])
        if kind == 6:
            return "[" + ",".join(any_value(depth - 1) for _ in range(count)) + "]"
        keys = ["".join(rng.choice("abcé.") for _ in range(rng.randint(0, 6))) for _ in range(count)]
        return "{" + ",".join(json.dumps(key) + ":" + any_value(depth - 1) for key in keys) + "}"

    for _ in range(80):
        yield any_value(3)


def main():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    psql, samples = sys.argv[1:at], sys.argv[at + 1 :]
    texts = list(documents())
    for sample in samples:
        with open(sample, encoding="utf-8") as lines:
            short = [line.rstrip("\n") for line in lines if len(line) < 900]
        texts += random.Random(3).sample(short, 5)
    texts = list(dict.fromkeys(texts))
    assert not any(c in text for text in texts for c in "\t\n")
    copied = "\n".join(text.replace("\\", "\\\\") for text in texts)
    script = f"""
begin;
create cast (jsonb as bytea) without function;
create temp table t (id serial, doc text);
copy t (doc) from stdin;
{copied}
\\.
select doc, encode(doc::jsonb::bytea, 'hex'), doc::jsonb from t order by id;
rollback;
"""
    command = psql + ["-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1"]
    subprocess.run(command, input=script.encode(), check=True)


main()
