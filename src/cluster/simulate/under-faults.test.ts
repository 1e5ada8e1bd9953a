import { afterEach, expect, test, vi } from 'vitest';
import { configMaps } from '#api/groups/core/v1/index.ts';
import { SeedError, underFaults, type UnderFaultsTest } from './under-faults.ts';

afterEach(() => vi.unstubAllEnvs());

const cluster = { nodes: 1 } as const;

/** Fails while a partition is in force. */
const noPartition: UnderFaultsTest = async ({ cluster: running }) => {
  for (let minute = 0; minute < 10; minute++) {
    await running.clock.advance('1m');
    for (const { description } of running.faults.list())
      if (description.startsWith('partition')) throw new Error(description);
  }
};

test('a failing seed is reported with the fewest faults, and repeated by its line', async () => {
  const options = { cluster, faults: { kinds: ['partition', 'conflict'], perHour: 36 } } as const;
  const failure = (await underFaults(noPartition, options).catch(
    (error: unknown) => error,
  )) as SeedError;
  expect(failure).toBeInstanceOf(SeedError);
  expect(failure.schedule).toHaveLength(1);
  expect(failure.message).toMatch(
    new RegExp(
      String.raw`^seed "\d+": partition kubelet/node-1\nIt takes this fault:\n {2}[\d.]+s: ` +
        String.raw`faults\.partition\("kubelet/node-1"\) for [\d.]+s\nrun it again: COXSWAIN_SEED=\d+ `,
    ),
  );
  vi.stubEnv('COXSWAIN_SEED', failure.seed);
  const again = await underFaults(noPartition, options).catch((error: unknown) => error);
  expect((again as SeedError).message).toBe(failure.message);
});

test('a test that passes has seen faults, which end when it says so', async () => {
  const faultsSeen: number[] = [];
  const passing: UnderFaultsTest = async ({ cluster: running, endFaults, random }) => {
    await running.clock.advance(random.int(60_000) + 240_000);
    faultsSeen.push(running.faults.list().length);
    endFaults();
    expect(running.faults.list()).toEqual([]);
    await running.clock.advance('10m');
    expect(running.faults.list()).toEqual([]);
    await running.client
      .resource(configMaps)
      .create({ metadata: { name: 'a', namespace: 'default' } });
  };
  expect(await underFaults(passing, { cluster, seeds: 3, faults: { perHour: 120 } })).toEqual({
    seeds: 3,
  });
  expect(Math.max(...faultsSeen)).toBeGreaterThan(0);
});

test('a test that fails without faults says so', async () => {
  const failing = underFaults(() => Promise.reject(new Error('wrong')), { cluster, seeds: 1 });
  await expect(failing).rejects.toThrow(
    'seed "1": wrong\nIt fails without faults, too.\nrun it again: COXSWAIN_SEED=1 ',
  );
});
