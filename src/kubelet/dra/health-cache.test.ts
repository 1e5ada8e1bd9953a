import { beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { HealthCache } from './health-cache.ts';
import type { ReportedHealth } from './schema.ts';

let clock: VirtualClock;
let stored: string | undefined;
let logger: ReturnType<typeof recordingLogger>;

const makeCache = (): HealthCache =>
  new HealthCache({
    clock,
    logger,
    file: {
      read: () => Promise.resolve(stored),
      write: (contents) => {
        stored = contents;
        return Promise.resolve();
      },
    },
  });

beforeEach(() => {
  clock = new VirtualClock();
  stored = undefined;
  logger = recordingLogger();
});

const report = (
  deviceName: string,
  health: ReportedHealth['health'],
  overrides: Partial<ReportedHealth> = {},
): ReportedHealth => ({
  device: { poolName: 'pool', deviceName },
  health,
  lastUpdatedTime: 0,
  healthCheckTimeoutSeconds: 0,
  message: '',
  ...overrides,
});

const names = (changed: ReturnType<HealthCache['update']>): string[] =>
  changed.map(({ deviceName, health }) => `${deviceName} ${health}`);

test('reports only changes, and forgets reports after their time', async () => {
  const cache = makeCache();
  expect(cache.get('d', 'pool', 'a').health).toBe('Unknown');
  expect(names(cache.update('d', [report('a', 'HEALTHY'), report('b', 'UNHEALTHY')]))).toEqual([
    'a Healthy',
    'b Unhealthy',
  ]);
  expect(cache.update('d', [report('a', 'HEALTHY'), report('b', 'UNHEALTHY')])).toEqual([]);
  await clock.advance('31s');
  expect(cache.get('d', 'pool', 'a').health).toBe('Unknown');
  // A device that is not reported any more becomes unknown.
  expect(names(cache.update('d', [report('b', 'UNHEALTHY')]))).toEqual(['a Unknown']);
});

test('a driver may state its own time, and a message, which is cut', async () => {
  const cache = makeCache();
  cache.update('d', [
    report('a', 'UNHEALTHY', { healthCheckTimeoutSeconds: 100, message: 'x'.repeat(2000) }),
  ]);
  await clock.advance('90s');
  const { health, message } = cache.get('d', 'pool', 'a');
  expect([health, message.length, message.endsWith('...')]).toEqual(['Unhealthy', 1024, true]);
});

test('outlives a restart; a damaged file is logged', async () => {
  makeCache().update('d', [report('a', 'HEALTHY')]);
  const again = makeCache();
  await again.restore();
  expect(again.get('d', 'pool', 'a').health).toBe('Healthy');
  again.clear('d');
  expect(stored).toBe('{}');
  stored = '{"d":';
  await makeCache().restore();
  expect(logger.records.map(({ message }) => message)).toEqual([
    'DRA manager: health of devices not read',
  ]);
});

test('a health that the kubelet does not know is unknown, in the status of pods, too', () => {
  const cache = makeCache();
  cache.update('d', [report('a', 7 as unknown as ReportedHealth['health'])]);
  expect(cache.get('d', 'pool', 'a').health).toBe('Unknown');
});

test('a driver that makes up devices gets no more than a limit', () => {
  const cache = makeCache();
  const reports = Array.from({ length: 12_000 }, (_, i) => report(`d${i}`, 'HEALTHY'));
  expect(cache.update('d', reports)).toHaveLength(10_000);
  expect(cache.get('d', 'pool', 'd9999').health).toBe('Healthy');
  expect(cache.get('d', 'pool', 'd10000').health).toBe('Unknown');
});

test.each([
  ['a date that is none', { LastUpdated: 'yesterday' }],
  ['a health that does not exist', { Health: 'Fine' }],
  ['a message that is no text', { Message: null }],
  ['a time limit that is no number', { HealthCheckTimeout: 'x' }],
])('a file with %s is ignored, and later reports are kept', async (_, damage) => {
  const entry = {
    PoolName: 'pool',
    DeviceName: 'a',
    Health: 'Healthy',
    LastUpdated: new Date(clock.now()).toISOString(),
    HealthCheckTimeout: 30e9,
    Message: '',
  };
  stored = JSON.stringify({ d: { Devices: { 'pool/a': entry } } });
  const intact = makeCache();
  await intact.restore();
  expect(intact.get('d', 'pool', 'a').health).toBe('Healthy');
  stored = JSON.stringify({ d: { Devices: { 'pool/a': { ...entry, ...damage } } } });
  const cache = makeCache();
  await cache.restore();
  expect(logger.records).toHaveLength(1);
  expect(cache.get('d', 'pool', 'a').health).toBe('Unknown');
  cache.update('d', [report('b', 'HEALTHY')]);
  expect(cache.get('d', 'pool', 'b').health).toBe('Healthy');
  cache.clear('d');
});

test('a clock that is set back does not keep a report valid', async () => {
  const cache = makeCache();
  cache.update('d', [report('a', 'HEALTHY')]);
  const real = clock.now.bind(clock);
  clock.now = () => real() - 3_600_000;
  await clock.advance(31_000);
  expect(cache.get('d', 'pool', 'a').health).toBe('Unknown');
});
