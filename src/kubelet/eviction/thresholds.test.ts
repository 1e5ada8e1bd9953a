import { describe, expect, test } from 'vitest';
import {
  DEFAULT_HARD,
  isHard,
  mergeHardDefaults,
  parseThresholds,
  ThresholdError,
  thresholdQuantity,
  type ThresholdStatements,
  withContainerFs,
} from './thresholds.ts';

const NONE: ThresholdStatements = {
  hard: {},
  soft: {},
  softGracePeriod: {},
  minimumReclaim: {},
  enforceAllocatable: false,
};
const parse = (statements: Partial<ThresholdStatements>) =>
  parseThresholds({ ...NONE, ...statements });
const summary = (thresholds: ReturnType<typeof parse>) =>
  thresholds.map(({ signal, value, graceMs }) => [
    signal,
    thresholdQuantity(value, 1000).toString(),
    graceMs,
  ]);

test('amounts, shares of the capacity, and periods', () => {
  const thresholds = parse({
    hard: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
    soft: { 'pid.available': '20%' },
    softGracePeriod: { 'pid.available': '1m30s' },
    minimumReclaim: { 'nodefs.available': '1Gi', 'pid.available': '5%' },
    enforceAllocatable: true,
  });
  expect(summary(thresholds)).toEqual([
    ['memory.available', '100Mi', 0],
    ['nodefs.available', '100', 0],
    ['pid.available', '200', 90_000],
    ['allocatableMemory.available', '100Mi', 0],
  ]);
  expect(thresholds.map(isHard)).toEqual([true, true, false, true]);
  expect(thresholds.map(({ minReclaim }) => minReclaim !== undefined)).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

test('0% and 100% switch a threshold off', () => {
  expect(parse({ hard: { 'nodefs.available': '0%', 'imagefs.available': '100%' } })).toEqual([]);
  expect(Object.keys(mergeHardDefaults({ 'nodefs.available': '0%' }))).toEqual(
    Object.keys(DEFAULT_HARD),
  );
});

test.each<[string, Partial<ThresholdStatements>, string]>([
  ['a signal', { hard: { 'mem.available': '1' } }, 'unsupported eviction signal mem.available'],
  ['no amount', { hard: { 'memory.available': 'much' } }, 'quantities must match'],
  ['nothing', { hard: { 'memory.available': '0' } }, 'eviction threshold memory.available must be'],
  ['less than nothing', { hard: { 'memory.available': '-5%' } }, 'must be >= 0%: -5%'],
  ['more than all', { hard: { 'memory.available': '101%' } }, 'must be <= 100%: 101%'],
  ['no share', { hard: { 'memory.available': 'x%' } }, 'parsing "x": invalid syntax'],
  [
    'a soft threshold without a period',
    { soft: { 'memory.available': '1Gi' } },
    'grace period must be specified for the soft eviction threshold memory.available',
  ],
  ['a period of nothing', { softGracePeriod: { 'memory.available': 'soon' } }, 'invalid duration'],
  [
    'a negative period',
    { softGracePeriod: { 'memory.available': '-1s' } },
    'invalid eviction grace period specified: -1s, must be a positive value',
  ],
  [
    'to reclaim less than nothing',
    { minimumReclaim: { 'memory.available': '-1Gi' } },
    'negative eviction minimum reclaim specified for memory.available',
  ],
  [
    'to reclaim 0%',
    { minimumReclaim: { 'memory.available': '0%' } },
    'eviction percentage minimum reclaim memory.available must be positive: 0%',
  ],
])('%s is refused', (_, statements, message) => {
  expect(() => parse(statements)).toThrow(ThresholdError);
  expect(() => parse(statements)).toThrow(message);
});

describe('the thresholds of containerfs', () => {
  const thresholds = parse({
    hard: { 'nodefs.available': '10%', 'imagefs.available': '15%', 'containerfs.available': '1%' },
  });
  const derived = (dedicatedImageFs: boolean, splitContainerFs: boolean) =>
    summary(withContainerFs(thresholds, { dedicatedImageFs, splitContainerFs })).filter(
      ([signal]) => signal === 'containerfs.available',
    );

  test('are those of the file system that has it, whatever the configuration says', () => {
    expect(derived(false, false)).toEqual([['containerfs.available', '100', 0]]);
    expect(derived(true, false)).toEqual([['containerfs.available', '150', 0]]);
    expect(derived(true, true)).toEqual([['containerfs.available', '100', 0]]);
  });
});
