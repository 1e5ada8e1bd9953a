import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';

import { bodyOf } from './body-reader.ts';

function readable(stream: PassThrough, announced?: string): { read(): Promise<Uint8Array> } {
  const body = bodyOf(stream, announced);
  if (body.kind !== 'bytes') throw new Error(`a body of kind ${body.kind}`);
  return { read: () => Promise.resolve(body.read()) };
}

test('a body is read once, however often read() is called', async () => {
  const stream = new PassThrough();
  const body = readable(stream);
  const [first, second] = [body.read(), body.read()];
  stream.write('one ');
  stream.end('two');
  expect(Buffer.from(await first).toString()).toBe('one two');
  expect(await second).toBe(await first);
});

test('a broken body is reported, also if it broke before read() was called', async () => {
  const broken = { status: { code: 400, message: 'the body of the request ended early' } };
  const late = new PassThrough();
  const reading = readable(late, '10').read();
  late.write('one');
  late.destroy();
  await expect(reading).rejects.toMatchObject(broken);
  const early = new PassThrough();
  early.write('one');
  early.destroy();
  await new Promise((resolve) => early.once('close', resolve));
  await expect(readable(early, '10').read()).rejects.toMatchObject(broken);
});
