import { describe, expect, test } from 'vitest';
import { allFromYaml, fromYaml, inOrderOf, toYaml, YamlError } from './yaml-text.ts';

describe('YAML', () => {
  test('texts that YAML 1.1 would read otherwise are quoted', () => {
    const object = { metadata: { name: 'x', labels: { a: 'yes', b: '014', c: '1e3', d: '' } } };
    expect(toYaml(object)).toContain("a: 'yes'".replaceAll("'", '"'));
    expect(fromYaml(toYaml(object))).toEqual(object);
  });

  test('the owners of fields are left out', () => {
    expect(toYaml({ metadata: { name: 'x', managedFields: [] } })).not.toContain('managed');
  });

  test.each([
    ['a: [', /Flow sequence/],
    ['just text', /not an object/],
    ['- a', /not an object/],
    ['a: 1', /no metadata/],
    ['metadata: 1', /no metadata/],
  ])('rejects %j', (text, message) => {
    expect(() => fromYaml(text)).toThrow(YamlError);
    expect(() => fromYaml(text)).toThrow(message);
  });

  test('aliases cannot grow without bound', () => {
    const levels = Array.from(
      { length: 12 },
      (_, index) =>
        `l${index + 1}: &l${index + 1} [${Array.from({ length: 9 }, () => `*l${index}`).join(',')}]`,
    );
    expect(() => fromYaml(`metadata: {}\nl0: &l0 [x]\n${levels.join('\n')}`)).toThrow(/alias/i);
  });
});

test('inOrderOf', () => {
  const value = inOrderOf(
    { c: 1, b: { y: 1, x: 2 }, a: [{ q: 1, p: 2 }] },
    { a: [{ p: 0, q: 0 }], b: { x: 0 } },
  );
  expect(JSON.stringify(value)).toBe('{"a":[{"p":2,"q":1}],"b":{"x":2,"y":1},"c":1}');
});

test('several documents: empty ones are left out, lists are their items', () => {
  const text = [
    '# nothing',
    'kind: A\nmetadata: { name: a }',
    '',
    'kind: List\nitems:\n  - kind: B\n    metadata: { name: b }\n  - kind: C\n    metadata: { name: c }',
  ].join('\n---\n');
  expect(allFromYaml(text).map(({ kind }) => kind)).toEqual(['A', 'B', 'C']);
  expect(allFromYaml('')).toEqual([]);
  expect(() => allFromYaml('a: [')).toThrow(YamlError);
  expect(() => allFromYaml('kind: A\nmetadata: {}\n---\njust text')).toThrow(/not an object/);
});
