// `explore`: one test of a reconciler under every disturbance up to a bound, on one cluster, each run in a namespace
// of its own.

import { namespaces } from '#api/groups/core/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { ControllerDefinition } from '#controllers/operator/index.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import {
  type Exploration,
  ExplorationError,
  type ExploreLimits,
  exploreRuns,
} from '#simulation/explore/index.ts';
import { ExplorationRun } from './exploration-run.ts';
import type { ExploreContext, ExploreTest } from './explore-context.ts';
import type { EmbeddedCluster, StartClusterOptions } from './embedded-cluster.ts';
import { startCluster } from './start-cluster.ts';

export interface ExploreOptions extends ExploreLimits {
  /** The controller that is explored. Several: also every order of their requests, up to `depth` choices. */
  readonly reconciler: ControllerDefinition | readonly ControllerDefinition[];
  /** Further controllers, to which nothing happens. */
  readonly others?: readonly ControllerDefinition[];
  /** The kinds whose objects are compared. Default: all that the test and the controllers have written. */
  readonly outcome?: readonly ResourceType[];
  /**
   * Called after each write of the reconciler; what it throws fails the run: for what must never be true, even for a
   * moment.
   */
  readonly invariant?: (run: ExploreContext) => Promise<void> | void;
  /** How long a step takes. Default: '30s'. Retries need more when they back off for longer. */
  readonly rest?: number | string;
  /** Called once before the first run, such as to define custom resources. */
  readonly setup?: (cluster: EmbeddedCluster<VirtualClock>) => Promise<void>;
  /** Default: no nodes, and of the controllers only the garbage collector. */
  readonly cluster?: Omit<StartClusterOptions, 'clock'>;
}

/**
 * Runs a test once without a fault, and then again and again with one: a crash after each write, no answer to each
 * write, each watch event lost, a cache that stands still after each event, conflicts, a restart that sees an older
 * state, every order of the requests of several reconcilers. Rejects with ExplorationError for a run that fails or
 * ends differently.
 */
export async function explore(test: ExploreTest, options: ExploreOptions): Promise<Exploration> {
  const { reconciler, others = [], rest = '30s', ...limits } = options;
  const reconcilers = 'setup' in reconciler ? [reconciler] : reconciler;
  if (reconcilers.length === 0) throw new TypeError('explore: a reconciler is needed');
  const cluster = await startCluster({
    nodes: 0,
    controllers: ['garbage-collector-controller'],
    ...options.cluster,
    clock: 'virtual',
  });
  try {
    await options.setup?.(cluster);
    let number = 0;
    const exploration = await exploreRuns(async (disturbance) => {
      const namespace = `run-${++number}`;
      await cluster.client.resource(namespaces).create({ metadata: { name: namespace } });
      const run = new ExplorationRun({
        cluster,
        namespace,
        disturbance,
        reconcilers,
        others,
        rest,
        outcome: options.outcome,
        invariant: options.invariant,
      });
      return run.run(test);
    }, limits);
    if (exploration.problems.length > 0) throw new ExplorationError(exploration, cluster.seed);
    return exploration;
  } finally {
    await cluster.stop();
  }
}
