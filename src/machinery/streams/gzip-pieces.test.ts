// Compares joined pieces that are compressed separately with zlib's own compression and checksums.

import { crc32, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { combineCrc32 } from './crc32.ts';
import { deflatePiece, GzipPieces } from './gzip-pieces.ts';

test('combined checksums equal the checksum of the joined text', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 3000 }),
      fc.uint8Array({ maxLength: 3000 }),
      (first, second) => {
        const expected = crc32(Buffer.concat([first, second]));
        expect(combineCrc32(crc32(first), crc32(second), second.length)).toBe(expected);
      },
    ),
  );
});

async function plainOf(pieces: GzipPieces): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of pieces.plain()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test.each<[what: string, texts: readonly string[]]>([
  ['nothing', []],
  ['an empty piece', ['']],
  ['one piece', ['text']],
  ['small pieces', ['{"paths":{', '"a":1', ',"b":2', '}', '}']],
  [
    'pieces that are sent in several chunks',
    Array.from({ length: 40 }, (_, index) => `${index}`.repeat(30_000)),
  ],
  [
    'a piece that does not compress',
    [Array.from({ length: 200_000 }, (_, n) => ((n * 2654435761) % 7919).toString(36)).join('')],
  ],
])('joined: %s', async (_what, texts) => {
  const text = texts.join('');
  const pieces = new GzipPieces(
    await Promise.all(texts.map((each) => deflatePiece(Buffer.from(each)))),
  );
  const chunks = [...pieces.gzip()];
  expect(pieces.length).toBe(text.length);
  expect(Buffer.concat(chunks).length).toBe(pieces.gzipLength);
  expect(gunzipSync(Buffer.concat(chunks)).toString()).toBe(text);
  expect((await plainOf(pieces)).toString()).toBe(text);
});
