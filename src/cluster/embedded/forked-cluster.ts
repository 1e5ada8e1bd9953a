// A cluster that is started once for a suite, and a fork of it for each test: for vitest's fixtures,
// and for runners that have hooks (node:test, jest, mocha). None of them is imported.

import type { VirtualClock } from '#machinery/clock.ts';
import { seeded, seedNote } from './seeds.ts';
import type { EmbeddedCluster, StartClusterOptions } from './embedded-cluster.ts';
import { startCluster } from './start-cluster.ts';
import type { TestHooks } from './testing.ts';

/** A cluster that can be forked: with a virtual clock and without a port. */
export type ForkableOptions = Omit<StartClusterOptions, 'clock' | 'port' | 'dnsPort'>;

type Cluster = EmbeddedCluster<VirtualClock>;

/** Brings the cluster of the suite into the state in which each test begins. */
export type Prepare = (cluster: Cluster) => unknown;

/** Returns the state in which each test begins, which has settled. */
async function startBase(options: ForkableOptions, prepare: Prepare | undefined): Promise<Cluster> {
  const base = await startCluster({ ...options, clock: 'virtual' });
  try {
    await prepare?.(base);
    await base.clock.settle();
    return base;
  } catch (error) {
    await base.stop();
    throw error;
  }
}

type Use<T> = (value: T) => Promise<void>;

/** The fixtures of vitest, for the type argument of `test.extend`. */
export interface ClusterFixtures {
  /** The cluster that is forked. Tests must leave it as it is. */
  readonly baseCluster: Cluster;
  /** The test's own cluster. It is stopped after the test. */
  readonly cluster: Cluster;
}

/** How vitest makes them. */
export interface FixtureDefinitions {
  baseCluster: [(context: object, use: Use<Cluster>) => Promise<void>, { scope: 'file' }];
  cluster: (
    context: {
      readonly baseCluster: Cluster;
      /** Vitest calls `report` if the test fails. */
      readonly onTestFailed: (report: () => void) => unknown;
    },
    use: Use<Cluster>,
  ) => Promise<void>;
}

/**
 * Returns fixtures for vitest (3.2 or later), at the top level of a file:
 *
 *     const test = base.extend<ClusterFixtures>(clusterFixtures({ nodes: 2 }, prepare));
 *
 * The first test that uses `cluster` starts one and calls `prepare`; each test gets a fork of it.
 */
export function clusterFixtures(
  options: ForkableOptions = {},
  prepare?: Prepare,
): FixtureDefinitions {
  return {
    baseCluster: [
      // Vitest reads the names of other fixtures out of the source: the pattern has to be there.
      // eslint-disable-next-line no-empty-pattern
      async ({}, use) => {
        const base = await startBase(options, prepare);
        try {
          await use(base);
        } finally {
          await base.stop();
        }
      },
      { scope: 'file' },
    ],
    cluster: async ({ baseCluster, onTestFailed }, use) => {
      const fork = await baseCluster.fork();
      onTestFailed(() => {
        process.stderr.write(`${seedNote(fork) ?? ''}\n`);
      });
      try {
        await use(fork);
      } finally {
        await fork.stop();
      }
    },
  };
}

/**
 * The hooks of a test runner: `{ beforeAll, afterAll, beforeEach, afterEach }` of jest; those of
 * node:test are `before` and `after` under these names.
 */
export interface ForkHooks extends TestHooks {
  /** Absent: only `run` gives tests a cluster. */
  beforeEach?(start: () => Promise<void>): unknown;
  afterEach?(stop: () => Promise<void>): unknown;
}

export interface ForkedCluster {
  /** The cluster that is forked. Tests must leave it as it is. Throws before the hook has run. */
  readonly base: Cluster;
  /**
   * The present test's own cluster, which is stopped after it. Throws outside of tests and without
   * the hooks for it. Tests that run at the same time use `run`.
   */
  readonly cluster: Cluster;
  /** Returns a test function that calls `test` with a cluster of its own: `it('…', forked.run(…))`. */
  run(test: (cluster: Cluster) => unknown): () => Promise<void>;
}

/** Starts one cluster before the tests of a file or suite, and forks it for each test. */
export function forkedCluster(
  hooks: ForkHooks,
  options: ForkableOptions = {},
  prepare?: Prepare,
): ForkedCluster {
  let base: Cluster | undefined;
  let current: Cluster | undefined;
  const started = (): Cluster => {
    if (base === undefined) throw new Error('the cluster starts in beforeAll: use it inside tests');
    return base;
  };
  hooks.beforeAll(async () => {
    base = await startBase(options, prepare);
  });
  hooks.afterAll(async () => {
    await base?.stop();
    base = undefined;
  });
  hooks.beforeEach?.(async () => {
    current = await started().fork();
  });
  hooks.afterEach?.(async () => {
    await current?.stop();
    current = undefined;
  });
  return {
    get base() {
      return started();
    },
    get cluster() {
      if (current === undefined)
        throw new Error(
          'the fork of a test exists while the test runs, and needs the hooks beforeEach and afterEach',
        );
      return current;
    },
    run: (test) => async () => {
      const fork = await started().fork();
      try {
        await seeded(fork, test);
      } finally {
        await fork.stop();
      }
    },
  };
}
