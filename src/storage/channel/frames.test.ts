import fc from 'fast-check';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { FrameError, FrameReader, FrameWriter } from './frames.ts';

type Value =
  | { readonly kind: 'u8' | 'u32' | 'number'; readonly value: number }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'bytes'; readonly value: Uint8Array };

const values: fc.Arbitrary<Value> = fc.oneof(
  fc.record({ kind: fc.constant('u8' as const), value: fc.nat(255) }),
  fc.record({ kind: fc.constant('u32' as const), value: fc.nat(0xffff_ffff) }),
  fc.record({ kind: fc.constant('number' as const), value: fc.maxSafeNat() }),
  fc.record({ kind: fc.constant('text' as const), value: fc.string({ unit: 'binary' }) }),
  fc.record({ kind: fc.constant('bytes' as const), value: fc.uint8Array() }),
  // Sizes around the limits of a copy and of a buffer.
  fc.record({
    kind: fc.constant('bytes' as const),
    value: fc
      .constantFrom(4000, 4096, 32_767, 32_768, 300_000)
      .map((length) => new Uint8Array(length).fill(length % 256)),
  }),
);

/** Texts are compared quickly, arrays of 300,000 bytes are not. */
const texts = (frame: readonly Value[]): readonly unknown[] =>
  frame.map(({ kind, value }) => [
    kind,
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
  ]);

test('frames arrive as they were written, however the stream is cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(values, { maxLength: 5 }), { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 50_000 }), { minLength: 1, maxLength: 20 }),
      async (frames, cuts) => {
        const stream = new PassThrough();
        const writer = new FrameWriter(stream);
        for (const [index, frame] of frames.entries()) {
          writer.begin(index + 1, index * 7);
          for (const { kind, value } of frame) {
            if (kind === 'text') writer.text(value);
            else if (kind === 'bytes') writer.bytes(value);
            else writer[kind](value);
          }
          writer.end();
        }
        writer.flush();
        stream.end();
        const all = Buffer.concat(await stream.toArray());
        const received: Value[][] = [];
        const reader = new FrameReader((body) => {
          expect([body.type, body.call]).toEqual([received.length + 1, received.length * 7]);
          received.push(
            frames[received.length]!.map(({ kind }) => ({ kind, value: body[kind]() }) as Value),
          );
        });
        for (let position = 0, index = 0; position < all.length; index++) {
          const length = cuts[index % cuts.length]!;
          reader.read(all.subarray(position, position + length));
          position += length;
        }
        expect(received.map(texts)).toEqual(frames.map(texts));
      },
    ),
    { numRuns: 100 },
  );
});

test('what is no frame is an error', () => {
  const reader = (): FrameReader => new FrameReader((body) => void body.bytes());
  expect(() => reader().read(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toThrow(FrameError);
  expect(() => reader().read(Buffer.alloc(9))).toThrow(FrameError);
  const cut = Buffer.alloc(13);
  cut.writeUInt32LE(9, 0);
  cut.writeUInt32LE(1000, 9);
  expect(() => reader().read(cut)).toThrow('longer than its frame');
  const short = Buffer.alloc(9);
  short.writeUInt32LE(5, 0);
  expect(() => reader().read(short)).toThrow(RangeError);
});
