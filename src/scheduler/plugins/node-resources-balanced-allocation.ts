// NodeResourcesBalancedAllocation: prefers nodes whose resources would be utilized evenly, so that
// none is exhausted while much of another is left.

import type { PluginRegistration } from '../framework/handle.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { MAX_NODE_SCORE, type PreScorePlugin, type ScorePlugin } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { Status } from '../framework/status.ts';
import { readArgs } from './args.ts';
import {
  type Allocation,
  allocationOf,
  readResources,
  scoreTemplate,
  type WeightedResource,
} from './resource-scoring.ts';

const NAME = 'NodeResourcesBalancedAllocation';
const SKIP = new Status('Skip', [], NAME);

export const nodeResourcesBalancedAllocation: PluginRegistration = {
  name: NAME,
  create(args) {
    // Weights have no effect here; 1 is upstream's default.
    const resources = readArgs(NAME, args, ['resources'], (reader) =>
      readResources(reader.child('resources'), 1),
    );
    return {
      name: NAME,
      // A pod without requests changes no utilization: it would always go to the most balanced
      // node.
      preScore: (_state, pod) =>
        resources.every(({ name }) => pod.requests.get(name) === 0) ? SKIP : undefined,
      score: (_state, pod, node) => balance(pod, node, resources),
      scoreTemplate,
    } satisfies PreScorePlugin & ScorePlugin;
  },
};

/** Returns 100 minus the standard deviation of the utilizations in percent. */
function balance(pod: PodInfo, node: NodeInfo, resources: readonly WeightedResource[]): number {
  const allocation: Allocation = { requested: 0, allocatable: 0 };
  const shares: number[] = [];
  for (const { name } of resources) {
    allocationOf(name, pod, node, false, allocation);
    if (allocation.allocatable !== 0)
      shares.push(Math.min(allocation.requested / allocation.allocatable, 1));
  }
  let deviation = 0;
  if (shares.length === 2) {
    deviation = Math.abs((shares[0]! - shares[1]!) / 2);
  } else if (shares.length > 2) {
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    deviation = Math.sqrt(
      shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / shares.length,
    );
  }
  return Math.trunc((1 - deviation) * MAX_NODE_SCORE);
}
