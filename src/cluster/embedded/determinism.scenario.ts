// A scenario of which the history is compared: nodes, a rollout, a job, faults.

import { startCluster } from './start-cluster.ts';
import { deployments } from '#api/groups/apps/v1/index.ts';

const pod = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'nginx' }] },
};

/** Returns the hash of the history of the scenario. `onLine`: see StartClusterOptions. */
export async function hashOfScenario(
  seed: string,
  onLine?: (line: string) => void,
): Promise<string> {
  const cluster = await startCluster({
    clock: 'virtual',
    nodes: 1,
    seed,
    hashHistory: true,
    ...(onLine !== undefined && { onHistory: onLine }),
  });
  cluster.faults.fail(409, { verb: 'write', probability: 0.1, count: 10 });
  cluster.faults.delayEvents({ kind: 'Pod', by: '200ms', probability: 0.2 });
  cluster.faults.crash('controller-manager', { afterWrite: true, kind: 'Pod', skip: 1 });
  const web = (replicas: number) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: pod },
  });
  await cluster.apply(web(2));
  await cluster.waitFor(deployments, 'web', 'Available');
  await cluster.apply(web(1));
  await cluster.clock.advance('15s');
  await cluster.stop();
  return cluster.historyHash();
}
