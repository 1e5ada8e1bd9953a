import { describe, expect, test } from 'vitest';
import { decodeFields, encodeFields, type Field, FieldDecoder } from './hpack.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('header blocks', () => {
  test('read as they are written', () => {
    const fields: Field[] = [
      [':path', '/etcdserverpb.KV/Txn'],
      ['long', 'x'.repeat(1000)],
      ['empty', ''],
      ['limit', 'y'.repeat(127)],
    ];
    expect(decodeFields(encodeFields(fields))).toEqual(fields);
  });

  test('have literal and indexed fields, as in the examples of RFC 7541, appendix C', () => {
    // C.2.2, C.2.3 and C.2.4.
    expect(decodeFields(bytes('040c 2f73 616d 706c 652f 7061 7468'))).toEqual([
      [':path', '/sample/path'],
    ]);
    expect(decodeFields(bytes('1008 7061 7373 776f 7264 0673 6563 7265 74'))).toEqual([
      ['password', 'secret'],
    ]);
    expect(decodeFields(bytes('82'))).toEqual([[':method', 'GET']]);
    // C.4.1, with the Huffman code.
    expect(decodeFields(bytes('8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff'))).toEqual([
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
    ]);
    // The fields of C.6.1.
    expect(
      decodeFields(
        bytes(
          '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 ' +
            '2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
        ),
      ),
    ).toEqual([
      [':status', '302'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'],
      ['location', 'https://www.example.com'],
    ]);
  });

  test('may set the size of the table to 0, and to nothing else', () => {
    expect(decodeFields(bytes('20 88'))).toEqual([[':status', '200']]);
    expect(() => decodeFields(bytes('3fe11f'))).toThrow('size of a table');
  });

  test.each([
    ['refers to a dynamic table', 'be'],
    ['refers to entry 0', '80'],
    ['ends within a string', '040c2f73'],
    ['ends before a string', '04'],
    ['has an endless integer', '7fffffffffff7f'],
    ['has padding of zeros', '0481f0'],
    ['has padding of 8 ones', '04820fff'],
    ['has the code of the end', '0484ffffffff'],
  ])('is an error if it %s', (_, block) => {
    expect(() => decodeFields(bytes(block))).toThrow(/header/);
  });

  test('are remembered, and equal whether they are or not', () => {
    const decoder = new FieldDecoder();
    for (let i = 0; i < 200; i++) {
      const block = encodeFields([['grpc-status', String(i)]]);
      expect(decoder.decode(block)).toEqual(decodeFields(block));
      expect(decoder.decode(Buffer.from(block))).toEqual(decodeFields(block));
    }
    const long = encodeFields([['grpc-message', 'x'.repeat(500)]]);
    expect(decoder.decode(long)).toEqual([['grpc-message', 'x'.repeat(500)]]);
  });
});
