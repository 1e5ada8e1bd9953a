// Compares with the examples in the description of the format:
// https://protobuf.dev/programming-guides/encoding/

import { describe, expect, test } from 'vitest';

import {
  boolField,
  bytesField,
  doubleField,
  integerField,
  message,
  stringField,
  stringsField,
} from './protobuf-writer.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('fields', () => {
  test.each<[what: string, field: Uint8Array, expected: string]>([
    ['a string', stringField(2, 'testing'), '120774657374696e67'],
    ['a string of more than ASCII, counted in bytes', stringField(1, 'é'), '0a02c3a9'],
    ['no string', stringField(2, undefined), ''],
    ['an empty string', stringField(2, ''), ''],
    ['strings, empty ones too', stringsField(4, ['a', '', 'b']), '2201612200220162'],
    ['no strings', stringsField(4, undefined), ''],
    ['true', boolField(1, true), '0801'],
    ['false', boolField(1, false), ''],
    ['nothing', boolField(1, undefined), ''],
    ['an integer', integerField(1, 150), '089601'],
    ['a negative integer', integerField(1, -2), '08feffffffffffffffff01'],
    ['zero', integerField(1, 0), ''],
    ['a double', doubleField(7, 1.5), '39000000000000f83f'],
    ['no double', doubleField(7, undefined), ''],
    ['a message', bytesField(3, Buffer.from('089601', 'hex')), '1a03089601'],
    ['an empty message', bytesField(3, message()), '1a00'],
    ['a number that takes two bytes', stringField(16, 'a'), '82010161'],
    ['a large number', boolField(2 ** 29 - 1, true), 'f8ffffff0f01'],
  ])('%s', (_, field, expected) => {
    expect(hex(field)).toBe(expected);
  });

  test.each([
    [127, '7f'],
    [128, '8001'],
    [300, 'ac02'],
    [2_097_152, '80808001'],
  ])('a length of %d', (length, expected) => {
    const field = bytesField(1, new Uint8Array(length));
    expect(hex(field.subarray(0, 1 + expected.length / 2))).toBe(`0a${expected}`);
    expect(field).toHaveLength(1 + expected.length / 2 + length);
  });
});

test('messages are their fields in order', () => {
  expect(hex(message(boolField(2, true), stringField(1, 'a'), message()))).toBe('10010a0161');
});
