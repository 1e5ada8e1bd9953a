// Sets of fields: FieldsV1 in Kubernetes' form, and the laws of sets, on random ones.

import { describe, expect, test } from 'vitest';
import { SeededRandom, type Random } from '#machinery/random.ts';
import { FieldSet, type Path } from './field-set.ts';
import { fieldsInSteps, fieldsOfSet, setOfFields } from './fields-v1.ts';
import {
  describeElement,
  keyElement,
  parsePathElement,
  PathElementError,
  sortElements,
  valueElement,
} from './path-element.ts';
import { set } from './testing.ts';

describe('path elements', () => {
  test.each<[string, string, string]>([
    ['f:a', 'f:a', '.a'],
    ['f:', 'f:', '.'],
    ['f:a.b/c', 'f:a.b/c', '.a.b/c'],
    ['f:__proto__', 'f:__proto__', '.__proto__'],
    ['k:{"name":"a"}', 'k:{"name":"a"}', '[name="a"]'],
    [
      'k:{ "protocol": "TCP", "port": 80 }',
      'k:{"port":80,"protocol":"TCP"}',
      '[port=80,protocol="TCP"]',
    ],
    ['k:{"b":true,"a":null}', 'k:{"a":null,"b":true}', '[a=null,b=true]'],
    ['v:1', 'v:1', '[=1]'],
    ['v:1.5', 'v:1.5', '[=1.5]'],
    ['v:"a\\"<"', 'v:"a\\"\\u003c"', '[="a\\"<"]'],
    ['v:true', 'v:true', '[=true]'],
    ['v:{"b":1,"a":[2]}', 'v:{"a":[2],"b":1}', '[={a=[2];b=1}]'],
    ['i:12', 'i:12', '[12]'],
  ])('%s', (text, canonical, described) => {
    const element = parsePathElement(text)!;
    expect([element, describeElement(element)]).toEqual([canonical, described]);
  });
  test.each([
    '',
    'a',
    'name',
    'v:',
    'v:{',
    'k:1',
    'k:{"a"}',
    'i:x',
    'i:1.5',
    'i:99999999999999999999',
  ])('%s is none', (text) => {
    expect(() => parsePathElement(text)).toThrow(PathElementError);
  });
  test('elements of a later version are ignored', () =>
    expect(parsePathElement('x:anything')).toBeUndefined());
  test('elements built from parts have the same text', () => {
    expect(keyElement([['name', 'a']])).toBe('k:{"name":"a"}');
    expect(
      keyElement([
        ['protocol', 'TCP'],
        ['port', 80],
      ]),
    ).toBe('k:{"port":80,"protocol":"TCP"}');
    expect(valueElement('a&b')).toBe('v:"a\\u0026b"');
  });
  test('the order: fields, keys, values, indices; numbers as numbers, texts as Go compares them', () => {
    const ordered = [
      'f:A',
      'f:a',
      'f:aa',
      'f:\uffee',
      'f:\u{1f600}',
      'k:{"name":"a"}',
      'k:{"name":"a b"}',
      'k:{"name":"b"}',
      'k:{"port":80}',
      'k:{"port":443}',
      'k:{"port":443,"protocol":"TCP"}',
      'v:2',
      'v:10',
      'v:"1"',
      'v:"a"',
      'v:false',
      'v:true',
      'i:2',
      'i:10',
    ];
    expect(sortElements(ordered.toReversed())).toEqual(ordered);
  });

  test('sorts plain text values by their content, as it sorts values with escapes', () => {
    const texts = ['', ' ', ' a', '!', '!0', '!1', '!10', 'a', 'a b', 'a!', 'a#', 'ab', 'b'];
    const plain = texts.map(valueElement);
    expect(sortElements(plain.toReversed())).toEqual(plain);
    const escaped = valueElement('c"');
    expect(sortElements([escaped, ...plain.toReversed()])).toEqual([...plain, escaped]);
  });
});

describe('FieldsV1', () => {
  test.each([
    '{}',
    '{"f:a":{}}',
    '{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}',
    '{"f:spec":{"f:ports":{"k:{\\"port\\":80,\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":' +
      '{},"f:port":{}},"k:{\\"port\\":443,\\"protocol\\":\\"TCP\\"}":{}}}}',
    '{"f:finalizers":{".":{},"v:\\"a\\"":{},"v:\\"b\\"":{}}}',
    '{"f:__proto__":{"f:constructor":{}}}',
  ])('%s comes back as it is', (json) => {
    expect(JSON.stringify(fieldsOfSet(setOfFields(JSON.parse(json))))).toBe(json);
  });
  test.each([
    ['out of order', '{"f:b":{},"f:a":{"f:c":{},".":{}}}', '{"f:a":{".":{},"f:c":{}},"f:b":{}}'],
    ['with unknown elements', '{"f:a":{},"z:b":{"f:c":{}}}', '{"f:a":{}}'],
    [
      'with one element written in two ways',
      '{"k:{\\"a\\":1,\\"b\\":2}":{"f:x":{}},"k:{\\"b\\":2,\\"a\\":1}":{}}',
      '{"k:{\\"a\\":1,\\"b\\":2}":{".":{},"f:x":{}}}',
    ],
    ['with nulls', '{"f:a":null}', '{"f:a":{}}'],
  ])('%s', (_, json, canonical) => {
    expect(JSON.stringify(fieldsOfSet(setOfFields(JSON.parse(json))))).toBe(canonical);
  });
  test.each(['[]', '1', '{"a":{}}', '{"f:a":[]}', '{"f:a":{"f:b":1}}'])('%s is none', (json) => {
    expect(() => setOfFields(JSON.parse(json))).toThrow(PathElementError);
  });
  test('equal sets share their JSON', () => {
    const make = (): FieldSet => set(['a', 'b'], ['c']);
    expect(fieldsOfSet(make())).toBe(fieldsOfSet(make()));
    expect(fieldsOfSet(set(['a'], ['c']))).not.toBe(fieldsOfSet(make()));
  });
  test('a large set is written in steps', () => {
    const names = Array.from({ length: 20_000 }, (_, i) => String(i).padStart(5, '0'));
    const large = FieldSet.building();
    const labels = FieldSet.building();
    for (const each of [large, labels]) for (const name of names) each.insert(`f:${name}`);
    large.put('f:labels', false, labels);
    const steps = fieldsInSteps(large);
    let pauses = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) pauses++;
    expect(pauses).toBeGreaterThanOrEqual(10);
    const { 'f:labels': labelFields, ...others } = step.value;
    expect(Object.keys(labelFields as object)).toEqual(names.map((name) => `f:${name}`));
    expect(Object.keys(others)).toEqual(names.map((name) => `f:${name}`));
    expect(setOfFields(step.value)).toBe(large);
  });
});

describe('a parent and its children', () => {
  const parent = set(['a']);
  const child = set(['a', 'b']);
  const both = set(['a'], ['a', 'b']);
  test.each<[string, FieldSet, FieldSet]>([
    ['parent and child', parent.union(child), both],
    ['parent without child', parent.difference(child), parent],
    ['child without parent', child.difference(parent), child],
    ['both without parent', both.difference(parent), child],
    ['both without parent and all below', both.recursiveDifference(parent), FieldSet.empty],
    ['child without parent and all below', child.recursiveDifference(parent), FieldSet.empty],
    ['parent without child and all below', parent.recursiveDifference(child), parent],
    ['what parent and child have in common', parent.intersection(child), FieldSet.empty],
    ['what both and the parent have in common', both.intersection(parent), parent],
    ['leaves of both', both.leaves(), child],
    ['below the parent', both.withPrefix('f:a'), set(['b'])],
  ])('%s', (_, actual, expected) => {
    expect(actual.toString()).toBe(expected.toString());
    expect(actual.equals(expected)).toBe(true);
  });
});

describe('laws, on random sets', () => {
  function randomPath(random: Random): Path {
    const elements = ['f:a', 'f:b', 'f:c', 'k:{"name":"x"}', 'k:{"name":"z"}', 'v:1', 'v:"s"'];
    return Array.from({ length: 1 + random.int(4) }, () => elements[random.int(elements.length)]!);
  }
  function randomSet(random: Random): FieldSet {
    return FieldSet.of(...Array.from({ length: random.int(12) }, () => randomPath(random)));
  }
  const texts = (fields: FieldSet): Set<string> =>
    new Set([...fields.paths()].map((path) => path.join('|')));
  const same = (actual: FieldSet, expected: Set<string>): void => {
    expect([...texts(actual)].sort()).toEqual([...expected].sort());
    expect(actual.size).toBe(expected.size);
    expect(actual.isEmpty).toBe(expected.size === 0);
  };

  test.each(Array.from({ length: 300 }, (_, seed) => seed))('seed %i', (seed) => {
    const random = new SeededRandom(seed);
    const a = randomSet(random);
    const b = randomSet(random);
    const inA = texts(a);
    const inB = texts(b);
    const before = [a.toString(), b.toString()];
    same(a.union(b), new Set([...inA, ...inB]));
    same(a.intersection(b), new Set([...inA].filter((path) => inB.has(path))));
    same(a.difference(b), new Set([...inA].filter((path) => !inB.has(path))));
    same(
      a.recursiveDifference(b),
      new Set(
        [...inA].filter(
          (path) => ![...inB].some((other) => path === other || path.startsWith(`${other}|`)),
        ),
      ),
    );
    same(
      a.leaves(),
      new Set([...inA].filter((path) => ![...inA].some((other) => other.startsWith(`${path}|`)))),
    );
    expect(a.union(b).equals(b.union(a))).toBe(true);
    expect(a.difference(b).union(a.intersection(b)).equals(a)).toBe(true);
    expect(setOfFields(JSON.parse(JSON.stringify(fieldsOfSet(a)))).equals(a)).toBe(true);
    for (const path of a.paths()) expect(a.has(path)).toBe(true);
    expect(a.has([])).toBe(false);
    expect(a.has(['f:nothing'])).toBe(false);
    // Operations have not modified their operands.
    expect([a.toString(), b.toString()]).toEqual(before);
  });
});
