import { afterEach, expect, test, vi } from 'vitest';
import { configMaps, pods } from '#api/groups/core/v1/index.ts';
import { annotated, replayLine } from './seeds.ts';
import { startCluster } from './start-cluster.ts';
import { withCluster } from './testing.ts';

afterEach(() => vi.unstubAllEnvs());

test('a failing test names the seed, the faults, and the line that runs it again', async () => {
  const failing = withCluster({ clock: 'virtual', nodes: 0, seed: 'my seed' }, async (cluster) => {
    cluster.faults.partition('scheduler');
    await cluster.get(configMaps, 'missing');
  });
  const failure = (await failing.catch((error: unknown) => error)) as Error;
  const note =
    'not found\nseed "my seed"; run it again: COXSWAIN_SEED=\'my seed\' COMMAND OF THE TEST\n' +
    '  fault: partition scheduler';
  expect(failure.message).toContain(note);
  expect(failure.stack).toContain(note);
});

test('the environment chooses the seed of clusters that name none', async () => {
  const uidOf = async (seed?: string): Promise<string | undefined> => {
    const cluster = await startCluster({
      clock: 'virtual',
      nodes: 0,
      ...(seed !== undefined && { seed }),
    });
    try {
      const { metadata } = await cluster.client
        .resource(configMaps)
        .create({ metadata: { name: 'a', namespace: 'default' } });
      expect((await cluster.fork()).seed).toBe(cluster.seed);
      expect(await cluster.list(pods)).toEqual([]);
      return metadata.uid;
    } finally {
      await cluster.stop();
    }
  };
  const usual = await uidOf();
  vi.stubEnv('COXSWAIN_SEED', '7');
  const chosen = await uidOf();
  expect(chosen).not.toBe(usual);
  expect(await uidOf('coxswain')).toBe(usual);
  vi.unstubAllEnvs();
  expect(await uidOf('7')).toBe(chosen);
});

test.each([
  ['7', 'COXSWAIN_SEED=7 '],
  ["it's", String.raw`COXSWAIN_SEED='it'\''s' `],
])('the seed %s is quoted for a shell', (seed, expected) => {
  expect(replayLine(seed)).toContain(expected);
});

test('what is no error is kept as the cause', () => {
  expect(annotated('text', 'note')).toMatchObject({ message: 'text\nnote', cause: 'text' });
  expect(annotated('text', undefined)).toBe('text');
});
