import { expect, test } from 'vitest';
import { type ClientCounts, TrafficRates } from './traffic.ts';

const counts = (user: string, reads: number, events = 0): ClientCounts => ({
  user,
  userAgent: 'x',
  reads,
  writes: 0,
  failures: 0,
  watches: 1,
  openWatches: 1,
  events,
});

const at = (second: number): string => new Date(second * 1000).toISOString();

test('rates are differences per second; clients that do nothing fall to zero', () => {
  const rates = new TrafficRates();
  rates.add({ time: at(0), clients: [counts('a', 100), counts('b', 7)] });
  expect(rates.add({ time: at(2), clients: [counts('a', 104, 2)] })).toMatchObject([
    { user: 'a', reads: 2, events: 1, history: [0, 3] },
    { user: 'b', reads: 0, history: [0, 0] },
  ]);
  expect(rates.add({ time: at(3), clients: [counts('c', 5)] })).toMatchObject([
    { user: 'c', reads: 5 },
    { user: 'a', reads: 0, history: [0, 3, 0] },
    { user: 'b' },
  ]);
});

test('a server that has started anew gives no negative rates', () => {
  const rates = new TrafficRates();
  rates.add({ time: at(0), clients: [counts('a', 100)] });
  expect(rates.add({ time: at(1), clients: [counts('a', 3)] })).toMatchObject([{ reads: 0 }]);
});
