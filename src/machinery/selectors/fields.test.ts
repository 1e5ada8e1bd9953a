import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as fields from './fields.ts';

describe('parseSelector', () => {
  test.each([
    ['', ''],
    [',', ''],
    ['x=a,y=b,z=c', 'x=a,y=b,z=c'],
    ['z=c,x=a', 'x=a,z=c'],
    ['x==a', 'x=a'],
    ['x!=a', 'x!=a'],
    ['x=', 'x='],
    ['x!=', 'x!='],
    ['metadata.name=a,status.phase!=Running', 'metadata.name=a,status.phase!=Running'],
    ['x=a\\=b', 'x=a\\=b'],
    ['x=a\\,b,y=c', 'x=a\\,b,y=c'],
    ['x=\\\\', 'x=\\\\'],
    ['a!b=c', 'a!b=c'],
    [' x = a ', ' x = a '],
  ])('%j is %j', (text, canonical) => {
    expect(fields.parseSelector(text).toString()).toBe(canonical);
    expect(fields.parseSelector(canonical).toString()).toBe(canonical);
  });

  test.each([
    ['x', "invalid selector: 'x'; can't understand 'x'"],
    ['x=a,y', "invalid selector: 'x=a,y'; can't understand 'y'"],
    ['x!a', "invalid selector: 'x!a'; can't understand 'x!a'"],
    ['x=a=b', 'invalid field selector: unescaped character in value: 61'],
    ['x=a==b', 'invalid field selector: unescaped character in value: 61'],
    ['x=a\\b', 'invalid field selector: invalid escape sequence: \\b'],
    ['x=a\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('refuses %j', (text, message) => {
    expect(() => fields.parseSelector(text)).toThrow(new fields.FieldSelectorError(message));
  });

  test('parses its own text, whatever the values are', () => {
    const term = fc.record({
      field: fc.constantFrom('a', 'b.c'),
      operator: fc.constantFrom('=', '!=' as const),
      value: fc.string(),
    });
    fc.assert(
      fc.property(fc.array(term, { minLength: 1, maxLength: 3 }), (terms) => {
        const selector = new fields.Selector(terms);
        const again = fields.parseSelector(selector.toString());
        const sorted = (one: fields.Selector) =>
          one
            .requirements()
            .map((requirement) => JSON.stringify(requirement))
            .sort();
        expect(sorted(again)).toEqual(sorted(selector));
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => fields.unescapeValue(fields.escapeValue(text)) === text),
    );
  });
});

describe('Selector', () => {
  test('matches if all terms do; a missing field is empty', () => {
    const matches = (text: string, set: fields.Fields) => fields.parseSelector(text).matches(set);
    expect(matches('', {})).toBe(true);
    expect(matches('a=1', { a: '1' })).toBe(true);
    expect(matches('a=1', { a: '2' })).toBe(false);
    expect(matches('a!=1', { a: '2' })).toBe(true);
    expect(matches('a!=1', {})).toBe(true);
    expect(matches('a=', {})).toBe(true);
    expect(matches('a!=', {})).toBe(false);
    expect(matches('a=1,b=2', { a: '1', b: '2' })).toBe(true);
    expect(matches('a=1,b=2', { a: '1', b: '3' })).toBe(false);
    expect(matches('constructor=', {})).toBe(true);
  });

  test('returns the exact value that it requires', () => {
    const selector = fields.parseSelector('metadata.name=a,spec.nodeName!=b');
    expect(selector.requiresExactMatch('metadata.name')).toBe('a');
    expect(selector.requiresExactMatch('spec.nodeName')).toBeUndefined();
    expect(selector.empty()).toBe(false);
    expect(fields.everything().empty()).toBe(true);
    expect(selector.requirements()).toEqual([
      { field: 'metadata.name', operator: '=', value: 'a' },
      { field: 'spec.nodeName', operator: '!=', value: 'b' },
    ]);
  });

  test('can be transformed, term by term', () => {
    const selector = fields.parseSelector('a=1,b!=2,c=3');
    const transformed = selector.transform((field, value) => {
      if (field === 'c') return { field: '', value: '' };
      return { field: `x.${field}`, value: `${value}0` };
    });
    expect(transformed.toString()).toBe('x.a=10,x.b!=20');
    expect(() =>
      fields.parseAndTransformSelector('a=1', (field) => {
        throw new Error(`field label not supported: ${field}`);
      }),
    ).toThrow('field label not supported: a');
  });

  test('is created from parts', () => {
    const both = fields.andSelectors(
      fields.oneTermEqualSelector('a', '1,2'),
      fields.oneTermNotEqualSelector('b', ''),
    );
    expect(both.toString()).toBe('a=1\\,2,b!=');
    expect(fields.selectorFromSet({ a: '1' }).toString()).toBe('a=1');
  });
});
