import fc from 'fast-check';
import { expect, test } from 'vitest';
import { query, read } from '../testing/queries.ts';
import { encodeBody, encodeError, encodeResponse, MAX_UDP_SIZE } from './encode.ts';
import { parseName, readLabelsAsWritten, type Labels } from './names.ts';
import { isRejection, parseQuery, type Query } from './query.ts';
import { addressRecord, nameRecord, soaRecord, type ResourceRecord } from './records.ts';
import { RCODE, TYPE } from './types.ts';

function parsed(message: Buffer): Query {
  const result = parseQuery(message);
  if (isRejection(result)) throw new Error('rejected');
  return result;
}

const labels = (name: string): Labels => parseName(name) ?? [];

const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
const name = fc.array(label, { minLength: 1, maxLength: 5 });
const owner = fc.option(name, { nil: undefined });
const ttl = fc.nat(86_400);
/** Generates each kind of record, with its text in dns-packet's form. */
const record: fc.Arbitrary<readonly [ResourceRecord, string]> = fc.oneof(
  fc
    .tuple(owner, fc.uint8Array({ minLength: 4, maxLength: 4 }), ttl)
    .map(
      ([of, address, seconds]) =>
        [addressRecord(of, address, seconds), `${seconds} A ${address.join('.')}`] as const,
    ),
  fc
    .tuple(owner, name, ttl)
    .map(
      ([of, target, seconds]) =>
        [
          nameRecord(TYPE.CNAME, of, target, seconds),
          `${seconds} CNAME ${target.join('.')}`,
        ] as const,
    ),
  fc.tuple(owner, name, ttl, fc.nat(65_535)).map(
    ([of, target, seconds, port]) =>
      [
        {
          owner: of,
          type: TYPE.SRV,
          ttl: seconds,
          data: { port, weight: 7, priority: 1, target },
        },
        `${seconds} SRV 1 7 ${port} ${target.join('.')}`,
      ] as const,
  ),
  fc
    .tuple(owner, ttl)
    .map(
      ([of, seconds]) =>
        [
          { owner: of, type: TYPE.TXT, ttl: seconds, data: { texts: ['1.1.0'] } },
          `${seconds} TXT 1.1.0`,
        ] as const,
    ),
);
const section = fc.array(record, { maxLength: 40 });

test('dns-packet decodes every message, however its names compress', () => {
  fc.assert(
    fc.property(name, section, section, section, (asked, answers, authorities, additionals) => {
      const question = parsed(query(asked.join('.'), 'A'));
      const sections = { answers, authorities, additionals };
      const records = Object.fromEntries(
        Object.entries(sections).map(([key, list]) => [key, list.map(([each]) => each)]),
      );
      const body = encodeBody(
        records as never,
        readLabelsAsWritten(question.message, 12),
        question.questionEnd,
        60_000,
      );
      const message = read(encodeResponse(question, { rcode: 0, flags: 0, body }));
      for (const [key, list] of Object.entries(sections)) {
        const expected = list.map(([{ owner: of }, text]) => `${(of ?? asked).join('.')} ${text}`);
        expect(message[key as keyof typeof sections]).toEqual(expected);
      }
      expect(message.truncated).toBe(false);
    }),
    { numRuns: 200 },
  );
});

test('a record that does not fit is left out and marked, and the rest can be decoded', () => {
  fc.assert(
    fc.property(name, section, fc.integer({ min: 0, max: 900 }), (asked, answers, limit) => {
      const question = parsed(query(asked.join('.'), 'A', { udpSize: 512 }));
      const sections = { answers: answers.map(([each]) => each), authorities: [], additionals: [] };
      const body = encodeBody(
        sections,
        readLabelsAsWritten(question.message, 12),
        question.questionEnd,
        limit,
      );
      expect(body.bytes.length).toBeLessThanOrEqual(limit);
      const message = read(encodeResponse(question, { rcode: 0, flags: 0, body }));
      expect(message.truncated).toBe(message.answers.length < answers.length);
      expect(message.answers).toEqual(
        answers
          .slice(0, message.answers.length)
          .map(([{ owner: of }, text]) => `${(of ?? asked).join('.')} ${text}`),
      );
    }),
    { numRuns: 200 },
  );
});

test('rotating records: each rotation has all of them', () => {
  const question = parsed(query('web.shop', 'A'));
  const answers = [1, 2, 3].map((last) =>
    addressRecord(undefined, Uint8Array.of(10, 0, 0, last), 5),
  );
  const sections = { answers, authorities: [soaRecord(['shop'], 1, 5)], additionals: [] };
  const body = encodeBody(sections, labels('web.shop'), question.questionEnd, 500);
  const texts = [0, 1, 2].map((first) =>
    read(
      encodeResponse(question, {
        rcode: 0,
        flags: 0,
        body,
        rotation: { size: 16, count: 3, first },
      }),
    ).answers.map((text) => text.at(-1)),
  );
  expect(texts).toEqual([
    ['1', '2', '3'],
    ['2', '3', '1'],
    ['3', '1', '2'],
  ]);
});

test('the case of the question and of other names is preserved', () => {
  const question = parsed(query('WeB.ShOp', 'SRV'));
  const target = labels('web.shop');
  const data = { port: 80, weight: 1, priority: 0, target };
  const sections = {
    answers: [{ owner: undefined, type: TYPE.SRV, ttl: 5, data }],
    authorities: [],
    additionals: [addressRecord(target, Uint8Array.of(10, 0, 0, 1), 5)],
  };
  const body = encodeBody(
    sections,
    readLabelsAsWritten(question.message, 12),
    question.questionEnd,
    500,
  );
  const message = read(encodeResponse(question, { rcode: 0, flags: 0, body }));
  expect(message.answers).toEqual(['WeB.ShOp 5 SRV 0 1 80 web.shop']);
  expect(message.additionals).toEqual(['web.shop 5 A 10.0.0.1']);
});

test('errors: with the question if there is one, and with EDNS if the client has it', () => {
  const message = query('web.shop', 'A', { id: 9, udpSize: 1232, dnssecOk: true });
  const withQuestion = read(encodeError(message, RCODE.BADVERS, parsed(message)));
  expect(withQuestion).toMatchObject({
    id: 9,
    rcode: 'NOERROR',
    additionals: [`OPT ${MAX_UDP_SIZE} do`],
  });
  const without = encodeError(message, RCODE.FORMERR, undefined);
  expect(without.length).toBe(12);
  expect(read(without)).toMatchObject({ id: 9, rcode: 'FORMERR' });
});
