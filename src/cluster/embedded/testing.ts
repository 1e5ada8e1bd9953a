// Clusters in tests, for any test runner.

import type { VirtualClock } from '#machinery/clock.ts';
import { seeded } from './seeds.ts';
import type { EmbeddedCluster, StartClusterOptions } from './embedded-cluster.ts';
import { startCluster } from './start-cluster.ts';

/**
 * The hooks of a test runner: those of vitest, jest and mocha, and `before`, `after` of node:test
 * under these names.
 */
export interface TestHooks {
  beforeAll(start: () => Promise<void>): unknown;
  afterAll(stop: () => Promise<void>): unknown;
}

/** A cluster that the tests of a file share. */
export interface SharedCluster<Cluster> {
  /** Throws before the hook has run. */
  readonly cluster: Cluster;
  /**
   * Returns the name of a new namespace, which exists. Tests that keep to their own do not disturb
   * each other.
   */
  namespace(prefix?: string): Promise<string>;
}

type Virtual = StartClusterOptions & { readonly clock: 'virtual' };

/** Runs `test` with a new cluster and stops it afterwards. An error of the test names the seed. */
export function withCluster<T>(
  options: Virtual,
  test: (cluster: EmbeddedCluster<VirtualClock>) => Promise<T>,
): Promise<T>;
export function withCluster<T>(
  options: StartClusterOptions,
  test: (cluster: EmbeddedCluster) => Promise<T>,
): Promise<T>;
export async function withCluster<T>(
  options: StartClusterOptions,
  test: (cluster: EmbeddedCluster<VirtualClock>) => Promise<T>,
): Promise<T> {
  const cluster = await startCluster(options as Virtual);
  try {
    return await seeded(cluster, test);
  } finally {
    await cluster.stop();
  }
}

/**
 * Starts one cluster before the tests of a file or suite, and stops it after them: `sharedCluster({
 * beforeAll, afterAll }, { nodes: 2 })`.
 */
export function sharedCluster(
  hooks: TestHooks,
  options: Virtual,
): SharedCluster<EmbeddedCluster<VirtualClock>>;
export function sharedCluster(
  hooks: TestHooks,
  options?: StartClusterOptions,
): SharedCluster<EmbeddedCluster>;
export function sharedCluster(
  hooks: TestHooks,
  options: StartClusterOptions = {},
): SharedCluster<EmbeddedCluster> {
  let running: EmbeddedCluster | undefined;
  let namespaces = 0;
  const current = (): EmbeddedCluster => {
    if (running === undefined)
      throw new Error('the cluster starts in beforeAll: use it inside tests');
    return running;
  };
  hooks.beforeAll(async () => {
    running = await startCluster(options);
  });
  hooks.afterAll(async () => {
    await running?.stop();
    running = undefined;
  });
  return {
    get cluster() {
      return current();
    },
    async namespace(prefix = 'test') {
      const name = `${prefix}-${++namespaces}`;
      await current().apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      return name;
    },
  };
}
