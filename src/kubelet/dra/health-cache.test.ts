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
