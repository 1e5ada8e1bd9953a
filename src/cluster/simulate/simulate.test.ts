import { describe, expect, test } from 'vitest';
import { configMaps } from '#api/groups/core/v1/index.ts';
import { SeededRandom } from '#machinery/random.ts';
import { systemClock } from '#machinery/clock.ts';
import { runSeed, scheduleOf } from './run-seed.ts';
import { checkedScenario, type SimulationScenario } from './scenario.ts';
import { describeFault, drawSchedule, FAULT_KINDS } from './schedule.ts';
import { SCENARIOS } from './scenarios/index.ts';
import { shrink } from './shrink.ts';
import { loadScenario, seedNumber, simulate } from './simulate.ts';

const small: SimulationScenario = {
  name: 'small',
  cluster: { nodes: 1 },
  duration: '5m',
  recovery: '5m',
  faults: { perHour: 60 },
  async setup({ cluster }) {
    await cluster.client
      .resource(configMaps)
      .create({ metadata: { name: 'kept', namespace: 'default' }, data: {} });
  },
};

describe('a schedule', () => {
  const draw = (seed: string) =>
    drawSchedule({ random: new SeededRandom(seed), durationMs: 3_600_000, nodes: 3, perHour: 200 });

  test('follows from the seed, in the order of time', () => {
    expect(draw('a')).toEqual(draw('a'));
    expect(draw('a')).not.toEqual(draw('b'));
    const times = draw('a').map(({ atMs }) => atMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(new Set(draw('a').map(({ kind }) => kind)).size).toBe(FAULT_KINDS.length);
  });

  test('is printed as code', () => {
    const [fault] = drawSchedule({
      random: new SeededRandom(1),
      durationMs: 60_000,
      nodes: 1,
      kinds: ['partition'],
      perHour: 60,
    });
    expect(describeFault(fault as NonNullable<typeof fault>)).toMatch(
      /^\d+(\.\d+)?s: faults\.partition\("kubelet\/node-1"\) for \d+(\.\d+)?s$/,
    );
  });
});

test.each([
  [
    [3, 7],
    [3, 7],
  ],
  [[5], [5]],
  [[], []],
])('shrinks to the items %j that it takes', async (needed, expected) => {
  const items = Array.from({ length: 20 }, (_, index) => index);
  const least = await shrink(items, async (part) => needed.every((item) => part.includes(item)));
  expect(least).toEqual(expected);
});

const setup = async (): Promise<void> => undefined;

test.each<[unknown, RegExp]>([
  [undefined, /default export/],
  [{ name: 'x' }, /setup/],
  [{ name: 'x', setup, durration: '1h' }, /unknown field "durration"/],
  [{ name: 'x', setup, duration: 'long' }, /duration/],
  [{ name: 'x', setup, faults: { kinds: ['meteor'] } }, /"meteor"/],
  [{ name: 'x', setup, actions: [{ run: setup }] }, /every/],
])('rejects the scenario %j', (value, message) => {
  expect(() => checkedScenario(value, 'file.js')).toThrow(message);
});

test('names what there is instead of a scenario that does not exist', () => {
  expect(() => loadScenario('nothing')).toThrow(/rolling-updates, jobs, node-failures, long-run/);
  expect([...SCENARIOS.values()].map((scenario) => checkedScenario(scenario, ''))).toHaveLength(4);
});

test('counts seeds on', () => {
  expect([seedNumber('7', 0), seedNumber('7', 3), seedNumber('x', 0), seedNumber('x', 2)]).toEqual([
    '7',
    '10',
    'x',
    'x+2',
  ]);
});

test('a seed runs the same each time, with its faults', async () => {
  const [first, again] = [
    await runSeed(small, '1', scheduleOf(small, '1', true)),
    await runSeed(small, '1', scheduleOf(small, '1', true)),
  ];
  expect(first.problems).toEqual([]);
  expect(first.faults).toBe(5);
  expect(again.hash).toBe(first.hash);
});

test('a failing seed is reported with the fewest faults', async () => {
  const broken: SimulationScenario = {
    ...small,
    faults: { perHour: 60, kinds: ['partition', 'conflict'] },
    invariants: [
      {
        name: 'no partition',
        check: async ({ cluster }) =>
          cluster.faults
            .list()
            .filter(({ description }) => description.startsWith('partition'))
            .map(({ description }) => description),
      },
    ],
  };
  const { failures, seeds } = await simulate({
    scenario: broken,
    seed: '2',
    seeds: 1,
    clock: systemClock,
  });
  expect(seeds).toBe(1);
  expect(failures).toHaveLength(1);
  expect(failures[0]?.problems[0]).toBe('no partition: partition kubelet/node-1');
  expect(failures[0]?.schedule).toHaveLength(1);
  expect(failures[0]?.schedule[0]).toContain('faults.partition("kubelet/node-1")');
});

test('a write that is lost is found', async () => {
  const result = await runSeed(
    {
      ...small,
      actions: [
        {
          every: '1m',
          // Past the API server, as a store would that forgets.
          run: async ({ cluster }) => {
            const { simulationOf } = await import('../embedded/incarnation.ts');
            await simulationOf(cluster)
              .storage.delete('/registry/configmaps/default/kept')
              .catch(() => undefined);
          },
        },
      ],
    },
    '1',
    [],
  );
  expect(result.problems).toEqual([
    'acknowledged writes persist: /api/v1/namespaces/default/configmaps/kept is gone',
  ]);
});
