// The short form of `npm run fuzz`.

import { expect, test } from 'vitest';
import { sendBodies } from './bodies.ts';
import { roundTrips } from './round-trips.ts';

test('invalid bodies of every kind are errors of the client', async () => {
  const { codes, problems } = await sendBodies({ count: 2000, seed: 'short' });
  expect(problems).toEqual([]);
  expect(codes.get(400)).toBeGreaterThan(300);
});

test('every kind with random values is unchanged after JSON, protobuf and conversion', () => {
  const { kinds, problems } = roundTrips({ fills: 3, seed: 'short' });
  expect(problems).toEqual([]);
  expect(kinds).toBeGreaterThan(100);
});
