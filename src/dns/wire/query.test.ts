import fc from 'fast-check';
import { expect, test } from 'vitest';
import { query } from '../testing/queries.ts';
import { readLabels } from './names.ts';
import { isRejection, parseQuery } from './query.ts';
import { RCODE } from './types.ts';

const rcodeOf = (message: Buffer): number | undefined | 'accepted' => {
  const parsed = parseQuery(message);
  return isRejection(parsed) ? parsed.rcode : 'accepted';
};

/** Returns the query with one 16-bit word replaced. */
const withWord = (offset: number, value: number): Buffer => {
  const message = query('web.shop', 'A');
  message.writeUInt16BE(value, offset);
  return message;
};

test('reads a question and EDNS', () => {
  const parsed = parseQuery(query('Web.Shop', 'SRV', { id: 77, udpSize: 4096, dnssecOk: true }));
  if (isRejection(parsed)) throw new Error('rejected');
  expect(parsed).toMatchObject({ id: 77, type: 33, edns: { udpSize: 4096, dnssecOk: true } });
  expect(readLabels(parsed.message, 12)).toEqual(['web', 'shop']);
});

test.each([
  [
    'an answer is dropped: two servers could answer each other for ever',
    withWord(2, 0x8180),
    undefined,
  ],
  ['a header that is cut off is dropped', query('web.shop', 'A').subarray(0, 11), undefined],
  ['an update', withWord(2, 0x2800), RCODE.NOTIMP],
  ['no question', withWord(4, 0), RCODE.FORMERR],
  ['two questions', withWord(4, 2), RCODE.FORMERR],
  ['answers that are not there', withWord(6, 1), RCODE.FORMERR],
  ['more records than a query has', withWord(10, 3), RCODE.FORMERR],
  ['a question that is cut off', query('web.shop', 'A').subarray(0, -1), RCODE.FORMERR],
  [
    'a class that is not the Internet',
    withWord(query('web.shop', 'A').length - 2, 3),
    RCODE.REFUSED,
  ],
])('%s', (_name, message, rcode) => {
  expect(rcodeOf(message)).toBe(rcode);
});

test('an unknown version of EDNS', () => {
  const message = query('web.shop', 'A', { udpSize: 1232 });
  // The extended response code, then the version.
  message[message.length - 5] = 1;
  expect(rcodeOf(message)).toBe(RCODE.BADVERS);
});

test('names that point: to themselves, forwards, backwards', () => {
  for (const target of [12, 14, 300, 0]) {
    const pointer = Buffer.from([0xc0 | (target >> 8), target & 255]);
    const message = Buffer.concat([
      query('a', 'A').subarray(0, 12),
      Buffer.from([1, 97]),
      pointer,
      Buffer.from([0, 1, 0, 1]),
    ]);
    expect(rcodeOf(message)).toBe(RCODE.FORMERR);
  }
});

test('names and labels of the maximum length', () => {
  const label = 'a'.repeat(63);
  expect(rcodeOf(query(`${label}.${label}.${label}.${'b'.repeat(61)}`, 'A'))).toBe('accepted');
  const tooLong = Buffer.concat([
    query('a', 'A').subarray(0, 12),
    ...Array.from({ length: 5 }, () => Buffer.from(`\x3f${label}`)),
    Buffer.from([0, 0, 1, 0, 1]),
  ]);
  expect(rcodeOf(tooLong)).toBe(RCODE.FORMERR);
});

test('arbitrary bytes are judged without an error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => void parseQuery(Buffer.from(bytes))),
  );
});

test('a query with bytes changed or cut is judged without an error, and its question stays within it', () => {
  const changes = fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 6 });
  fc.assert(
    fc.property(changes, fc.nat(80), fc.boolean(), (list, cut, edns) => {
      const message = query('web.shop.svc.cluster.local', 'A', edns ? { udpSize: 1232 } : {});
      for (const [offset, value] of list) if (offset < message.length) message[offset] = value;
      const parsed = parseQuery(message.subarray(0, message.length - Math.max(0, cut - 40)));
      if (isRejection(parsed)) return;
      expect(parsed.questionEnd).toBeLessThanOrEqual(parsed.message.length);
      expect(readLabels(parsed.message, 12).join('.').length).toBeLessThanOrEqual(255);
    }),
  );
});
