import { describe, expect, test } from 'vitest';
import * as field from './field.ts';

const at = field.path('spec', 'x');

describe('FieldPath', () => {
  test.each([
    [field.path('spec'), 'spec'],
    [field.path('spec', 'template'), 'spec.template'],
    [field.path('spec').child('containers').index(0).child('name'), 'spec.containers[0].name'],
    [
      field.path('metadata').child('labels').key('app.kubernetes.io/name'),
      'metadata.labels[app.kubernetes.io/name]',
    ],
    [field.path('a').index(1).index(2).key('k').child('b', 'c'), 'a[1][2][k].b.c'],
    [field.path().child('key'), 'key'],
    [field.path().index(0).child('key'), '[0].key'],
    [field.path('a').child(), 'a'],
  ])('%s', (path, text) => {
    expect(path.toString()).toBe(text);
  });

  test('is not changed by its children', () => {
    const spec = field.path('spec');
    spec.child('a');
    expect(spec.toString()).toBe('spec');
  });
});

describe('messages', () => {
  test.each<[field.FieldError, field.FieldErrorType, string]>([
    [field.required(at), 'FieldValueRequired', 'Required value'],
    [field.required(at, 'must be set'), 'FieldValueRequired', 'Required value: must be set'],
    [
      field.invalid(at, 'A_b', 'must be lower case'),
      'FieldValueInvalid',
      'Invalid value: "A_b": must be lower case',
    ],
    [
      field.invalid(at, -1, 'must be positive'),
      'FieldValueInvalid',
      'Invalid value: -1: must be positive',
    ],
    [field.invalid(at, true, ''), 'FieldValueInvalid', 'Invalid value: true'],
    [field.invalid(at, null, 'x'), 'FieldValueInvalid', 'Invalid value: null: x'],
    [
      field.invalid(at, { a: '<b>' }, 'x'),
      'FieldValueInvalid',
      'Invalid value: {"a":"\\u003cb\\u003e"}: x',
    ],
    [field.invalid(at, field.omitValue, 'x'), 'FieldValueInvalid', 'Invalid value: x'],
    [
      field.typeInvalid(at, 'x', 'must be a number'),
      'FieldValueTypeInvalid',
      'Invalid value: "x": must be a number',
    ],
    [
      field.notSupported(at, 'C', ['B', 'A']),
      'FieldValueNotSupported',
      'Unsupported value: "C": supported values: "B", "A"',
    ],
    [field.notSupported(at, 'C', []), 'FieldValueNotSupported', 'Unsupported value: "C"'],
    [field.forbidden(at, 'not now'), 'FieldValueForbidden', 'Forbidden: not now'],
    [field.duplicate(at, 'a'), 'FieldValueDuplicate', 'Duplicate value: "a"'],
    [field.notFound(at, 'a'), 'FieldValueNotFound', 'Not found: "a"'],
    [field.tooLong(at, 'secret', 3), 'FieldValueTooLong', 'Too long: may not be more than 3 bytes'],
    [field.tooLong(at, 'secret', 1), 'FieldValueTooLong', 'Too long: may not be more than 1 byte'],
    [field.tooLong(at, 'secret', -1), 'FieldValueTooLong', 'Too long: value is too long'],
    [
      field.tooLongCharacters(at, 'secret', 3),
      'FieldValueTooLong',
      'Too long: may not be more than 3 characters',
    ],
    [field.tooShort(at, 'a', 2), 'FieldValueTooShort', 'Too short: must be at least 2 characters'],
    [field.tooShort(at, '', -1), 'FieldValueTooShort', 'Too short: value is too short'],
    [field.tooMany(at, 3, 2), 'FieldValueTooMany', 'Too many: 3: must have at most 2 items'],
    [field.tooMany(at, -1, 1), 'FieldValueTooMany', 'Too many: must have at most 1 item'],
    [field.tooMany(at, 3, -1), 'FieldValueTooMany', 'Too many: 3: has too many items'],
    [field.tooFew(at, 0, 1), 'FieldValueTooFew', 'Too few: 0: must have at least 1 item'],
    [field.tooFew(at, -1, -1), 'FieldValueTooFew', 'Too few: has too few items'],
    [field.internal(at, new Error('boom')), 'InternalError', 'Internal error: boom'],
  ])('%s', (error, type, body) => {
    expect(error.type).toBe(type);
    expect(error.field).toBe('spec.x');
    expect(error.body).toBe(body);
    expect(error.message).toBe(`spec.x: ${body}`);
    expect(String(error)).toBe(error.message);
  });

  test('have <nil> in place of a missing path', () => {
    expect(field.required(undefined).message).toBe('<nil>: Required value');
  });
});

describe('lists', () => {
  const a = field.required(field.path('a'));
  const b = field.invalid(field.path('b'), 1, 'bad');

  test('show one message unchanged, several in brackets, repetitions once', () => {
    expect(field.aggregateMessage([])).toBe('');
    expect(field.aggregateMessage([a])).toBe('a: Required value');
    expect(field.aggregateMessage([a, b])).toBe('[a: Required value, b: Invalid value: 1: bad]');
    expect(field.aggregateMessage([a, b, field.required(field.path('a'))])).toBe(
      '[a: Required value, b: Invalid value: 1: bad]',
    );
  });

  test('are converted to one exception', () => {
    expect(field.toAggregate([])).toBeUndefined();
    const error = field.toAggregate([a, b, a]);
    expect(error).toBeInstanceOf(field.FieldErrorsError);
    expect(error?.errors).toEqual([a, b]);
    expect(error?.message).toBe('[a: Required value, b: Invalid value: 1: bad]');
  });
});

describe('bounded', () => {
  const errorsOf = (count: number) => () =>
    Array.from({ length: count }, (_, i) => field.required(new field.FieldPath('list').index(i)));

  test('returns all errors up to the limit', () => {
    expect(field.bounded(errorsOf(999))).toHaveLength(999);
    expect(errorsOf(2000)()).toHaveLength(2000);
  });

  test('stops validation when there are too many', () => {
    const errors = field.bounded(errorsOf(1_000_000));
    expect(errors).toHaveLength(field.MAX_FIELD_ERRORS);
    expect(errors.at(-1)?.field).toBe('list[999]');
  });

  test('passes other exceptions on, and does not count afterwards', () => {
    expect(() =>
      field.bounded(() => {
        throw new TypeError('x');
      }),
    ).toThrow(TypeError);
    expect(errorsOf(2000)()).toHaveLength(2000);
  });
});

describe('expressionsTooLong', () => {
  const expression = 'x'.repeat(20_000);
  const validate = (): field.FieldErrorList =>
    [1, 2, 3].flatMap((i) => field.expressionsTooLong(field.path('e').index(i), expression));

  test('rejects the expressions of an object beyond 50,000 characters in all', () => {
    expect(field.bounded(validate).map(({ message }) => message)).toEqual([
      'e[3]: Invalid value: the expressions of an object must have at most 50000 characters in all',
    ]);
  });

  test('counts each object for itself', () => {
    field.bounded(validate);
    expect(field.bounded(() => field.expressionsTooLong(at, expression))).toEqual([]);
    expect(validate()).toEqual([]);
  });
});
