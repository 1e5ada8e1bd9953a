// Start and stop of a cluster, again and again: how long they take, and whether anything of a
// stopped cluster stays in memory (growth.ts).

import { startCluster } from '#cluster/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { heading, show } from '../report.ts';

/** The first starts compile code, and fill caches of the process. */
const WARM_UP = 50;

export interface StartsOptions {
  readonly clusters: number;
  /** The start of upstream's programs, in milliseconds, to compare with. */
  readonly upstreamStartMs: number | undefined;
  /** Resolves with the megabytes that stay after so many starts in a process of its own. */
  readonly growthMB: (clusters: number) => Promise<number>;
}

export async function starts({
  clusters,
  upstreamStartMs,
  growthMB,
}: StartsOptions): Promise<void> {
  heading(`embedded: ${clusters} starts of startCluster({ nodes: 1, clock: 'virtual' })`);
  const started: number[] = [];
  const stopped: number[] = [];
  for (let round = 0; round < clusters; round++) {
    const began = systemClock.monotonic();
    const cluster = await startCluster({ nodes: 1, clock: 'virtual' });
    const ready = systemClock.monotonic();
    await cluster.stop();
    started.push(ready - began);
    stopped.push(systemClock.monotonic() - ready);
  }
  show({
    what: 'start',
    unit: 'ms',
    values: started.slice(WARM_UP),
    ...(upstreamStartMs !== undefined && {
      comparedWith: { name: 'upstream', value: upstreamStartMs },
    }),
  });
  show({ what: 'stop', unit: 'ms', values: stopped.slice(WARM_UP) });
  show({
    what: `heap after ${clusters} starts, more`,
    unit: 'MB',
    values: [Math.max(0, await growthMB(clusters))],
    goal: { atMost: 1 },
  });
}
