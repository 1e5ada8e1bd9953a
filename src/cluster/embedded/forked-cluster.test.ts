import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test as plainTest } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { configMaps, pods } from '#api/groups/core/v1/index.ts';
import { clusterFixtures, type ClusterFixtures, forkedCluster } from './forked-cluster.ts';
import type { EmbeddedCluster } from './embedded-cluster.ts';

const configMap = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
});

const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'nginx' }] },
    },
  },
};

let starts = 0;
const prepare = async (cluster: EmbeddedCluster): Promise<void> => {
  starts++;
  await cluster.apply(web);
  await cluster.waitFor(deployments, 'web', 'Available');
};

const names = async (cluster: EmbeddedCluster): Promise<string[]> =>
  (await cluster.list(configMaps, { namespace: 'default' })).flatMap(({ metadata }) =>
    metadata.name?.startsWith('of-') ? metadata.name : [],
  );

const test = plainTest.extend<ClusterFixtures>(clusterFixtures({}, prepare));

describe('fixtures of vitest', () => {
  test('give each test a cluster of its own', async ({ cluster }) => {
    await cluster.apply(configMap('of-first'));
    expect(await names(cluster)).toEqual(['of-first']);
    expect(await cluster.list(pods)).toHaveLength(2);
  });

  test('in the state that was prepared once', async ({ cluster, baseCluster }) => {
    await cluster.apply(configMap('of-second'));
    expect(await names(cluster)).toEqual(['of-second']);
    expect(await names(baseCluster)).toEqual([]);
    expect(starts).toBe(1);
  });
});

describe('hooks', () => {
  const forked = forkedCluster({ beforeAll, afterAll }, {}, async (cluster) => {
    await cluster.apply(configMap('of-base'));
  });

  plainTest.concurrent.each(['a', 'b', 'c'])(
    'run() works for concurrent tests (%s)',
    async (name) => {
      await forked.run(async (cluster) => {
        await cluster.apply(configMap(`of-${name}`));
        expect(await names(cluster)).toEqual([`of-${name}`, 'of-base'].sort());
      })();
    },
  );

  plainTest('the fork of a test needs hooks of tests', () => {
    expect(() => forked.cluster).toThrow('needs the hooks beforeEach and afterEach');
  });

  plainTest('a failing test function fails, and a failing preparation, too', async () => {
    await expect(
      forked.run(() => {
        throw new Error('on purpose');
      })(),
    ).rejects.toThrow('on purpose');
    const hooks: Record<string, () => Promise<void>> = {};
    forkedCluster(
      {
        beforeAll: (start) => (hooks['start'] = start),
        afterAll: (stop) => (hooks['stop'] = stop),
      },
      {},
      () => Promise.reject(new Error('not prepared')),
    );
    await expect(hooks['start']?.()).rejects.toThrow('not prepared');
    await hooks['stop']?.();
  });
});

/** Runs tests as jest-circus does: hooks are called with no argument if they take none. */
class Jest {
  readonly #hooks: [kind: string, hook: () => Promise<void>][] = [];
  readonly beforeAll = (hook: () => Promise<void>): void => this.#add('beforeAll', hook);
  readonly afterAll = (hook: () => Promise<void>): void => this.#add('afterAll', hook);
  readonly beforeEach = (hook: () => Promise<void>): void => this.#add('beforeEach', hook);
  readonly afterEach = (hook: () => Promise<void>): void => this.#add('afterEach', hook);

  #add(kind: string, hook: () => Promise<void>): void {
    // A hook with a parameter would be waited for by its `done`.
    expect(hook).toHaveLength(0);
    this.#hooks.push([kind, hook]);
  }

  async run(tests: readonly (() => Promise<void>)[]): Promise<void> {
    const call = async (wanted: string): Promise<void> => {
      for (const [kind, hook] of this.#hooks) if (kind === wanted) await hook();
    };
    await call('beforeAll');
    for (const each of tests) {
      await call('beforeEach');
      await each();
      await call('afterEach');
    }
    await call('afterAll');
  }
}

plainTest("the interface of jest's hooks", async () => {
  const jest = new Jest();
  const forked = forkedCluster(jest);
  expect(() => forked.base).toThrow('starts in beforeAll');
  const seen: string[][] = [];
  const add = (name: string) => async (): Promise<void> => {
    await forked.cluster.apply(configMap(name));
    seen.push(await names(forked.cluster));
  };
  await jest.run([add('of-1'), add('of-2')]);
  expect(seen).toEqual([['of-1'], ['of-2']]);
});

plainTest(
  'node:test',
  async () => {
    const file = fileURLToPath(new URL('testing/node-test-suite.ts', import.meta.url));
    // A runner of Node inside of another one reports to that.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const child = spawn(process.execPath, ['--import', 'tsx', '--test', file], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    expect(`${stdout}${stderr}`).toMatch(/^(#|ℹ) pass 3$/m);
    expect(code).toBe(0);
  },
  120_000,
);
