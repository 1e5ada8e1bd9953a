// Start and stop of a cluster, again and again: how long they take, and whether anything of a
// stopped cluster stays in memory.

import { startCluster } from '#cluster/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { heading, show } from '../report.ts';
import { liveMB } from './heap.ts';

/** Compiled code and caches of the process grow for so many starts. */
const WARM_UP = 50;

export async function starts({
  clusters,
  upstreamStartMs,
}: {
  readonly clusters: number;
  readonly upstreamStartMs: number | undefined;
}): Promise<void> {
  heading(`embedded: ${clusters} starts of startCluster({ nodes: 1, clock: 'virtual' })`);
  const started: number[] = [];
  const stopped: number[] = [];
  let before = 0;
  for (let round = 0; round < clusters; round++) {
    if (round === Math.min(WARM_UP, clusters - 1)) before = await liveMB();
    const began = systemClock.monotonic();
    const cluster = await startCluster({ nodes: 1, clock: 'virtual' });
    const ready = systemClock.monotonic();
    await cluster.stop();
    started.push(ready - began);
    stopped.push(systemClock.monotonic() - ready);
  }
  const grown = (await liveMB()) - before;
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
    values: [Math.max(0, grown)],
    goal: { atMost: 1 },
  });
}
