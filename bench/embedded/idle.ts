// Many clusters in one process, of which nothing is asked.

import { startCluster } from '#cluster/index.ts';
import { heading, show } from '../report.ts';
import { liveMB } from './heap.ts';

export async function idle({ clusters }: { readonly clusters: number }): Promise<void> {
  heading(`embedded: ${clusters} idle clusters of a node each`);
  // Everything that clusters share exists already.
  await (await startCluster({ clock: 'virtual' })).stop();
  const before = await liveMB();
  const running: { stop(): Promise<void> }[] = [];
  for (let n = 0; n < clusters; n++) running.push(await startCluster({ clock: 'virtual' }));
  const each = ((await liveMB()) - before) / clusters;
  show({ what: 'memory of each', unit: 'MB', values: [each], goal: { atMost: 5 } });
  for (const cluster of running) await cluster.stop();
}
