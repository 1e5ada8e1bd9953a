import { expect, test } from 'vitest';
import { NodeInfoUpdates } from './node-info-updates.ts';

test('a driver is asked once in each of its periods', () => {
  const updates = new NodeInfoUpdates();
  const periods = new Map([
    ['often', 10],
    ['seldom', 60],
    ['never', 0],
  ]);
  const asked = [0, 5, 10, 15, 20, 60, 61].map((second) => updates.due(periods, second * 1000));
  expect(asked).toEqual([[], [], ['often'], [], ['often'], ['often', 'seldom'], []]);
});

test('a driver that was away begins again', () => {
  const updates = new NodeInfoUpdates();
  const periods = new Map([['d', 10]]);
  updates.due(periods, 0);
  expect(updates.due(new Map(), 5_000)).toEqual([]);
  expect(updates.due(periods, 12_000)).toEqual([]);
  expect(updates.due(new Map([['d', 0]]), 20_000)).toEqual([]);
  expect(updates.due(periods, 22_000)).toEqual([]);
  expect(updates.due(periods, 32_000)).toEqual(['d']);
});
