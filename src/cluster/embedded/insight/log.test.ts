import { expect, test } from 'vitest';
import { RecordLog } from './log.ts';
import type { ChangeRecord } from './records.ts';

const record = (sequence: number): ChangeRecord => ({
  type: 'change',
  sequence,
  timeMs: 0,
  change: 'ADDED',
  revision: sequence,
  object: { metadata: { name: 'x', uid: '', resourceVersion: '1', creationTimestamp: '' } },
  previous: undefined,
});
const numbers = (log: Iterable<{ readonly sequence: number }>): number[] =>
  [...log].map(({ sequence }) => sequence);

test('old records make room, by number and by bytes', () => {
  const log = new RecordLog({ limit: 3, limitBytes: 100 });
  for (let n = 1; n <= 10; n++) log.push(record(n));
  expect([numbers(log), numbers(log.backwards()), log.dropped]).toEqual([
    [8, 9, 10],
    [10, 9, 8],
    7,
  ]);
  log.push(record(11), 60);
  log.push(record(12), 60);
  expect(numbers(log)).toEqual([12]);
  expect(log.filter('change', ({ sequence }) => sequence > 12)).toEqual([]);
  expect(log.filter('request')).toEqual([]);
});

test('an iteration that falls behind goes on with the oldest record, and ends with the log', async () => {
  const log = new RecordLog({ limit: 2 });
  const seen: number[] = [];
  log.push(record(1));
  const reading = (async () => {
    for await (const { sequence } of log) {
      seen.push(sequence);
      if (sequence === 1) for (let n = 2; n <= 6; n++) log.push(record(n));
      if (sequence === 6) log.end();
    }
  })();
  await reading;
  expect(seen).toEqual([1, 5, 6]);
});
