// Scores by the resulting allocation of a node's resources, for NodeResourcesFit and
// NodeResourcesBalancedAllocation.

import * as field from '#machinery/validation/field.ts';
import type { ConfigReader } from '../config/reader.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { MAX_NODE_SCORE } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';

export interface WeightedResource {
  readonly name: string;
  readonly weight: number;
}

const CPU_AND_MEMORY: readonly WeightedResource[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];

/**
 * The resulting allocation of a resource. `requested` includes the pod; both are 0 if the resource
 * does not count: the node has none, or it is an extended resource that the pod does not request.
 */
export interface Allocation {
  requested: number;
  allocatable: number;
}

/**
 * Writes the allocation of one resource into `into`. `nonZero`: CPU and memory with the defaults
 * for containers that request nothing.
 */
export function allocationOf(
  resource: string,
  pod: PodInfo,
  node: NodeInfo,
  nonZero: boolean,
  into: Allocation,
): void {
  switch (resource) {
    case 'cpu':
      into.allocatable = node.allocatable.milliCpu;
      into.requested = nonZero
        ? node.nonZeroMilliCpu + pod.nonZeroMilliCpu
        : node.requested.milliCpu + pod.requests.milliCpu;
      return;
    case 'memory':
      into.allocatable = node.allocatable.memory;
      into.requested = nonZero
        ? node.nonZeroMemory + pod.nonZeroMemory
        : node.requested.memory + pod.requests.memory;
      return;
    case 'ephemeral-storage':
      into.allocatable = node.allocatable.ephemeralStorage;
      into.requested = node.requested.ephemeralStorage + pod.requests.ephemeralStorage;
      return;
    default: {
      const asked = pod.requests.scalar(resource);
      into.allocatable = asked === 0 ? 0 : node.allocatable.scalar(resource);
      into.requested = asked === 0 ? 0 : node.requested.scalar(resource) + asked;
    }
  }
}

/** Returns everything about a pod that allocationOf reads. */
export function scoreTemplate({ requests, nonZeroMilliCpu, nonZeroMemory }: PodInfo): string {
  return `${requests.text()} ${nonZeroMilliCpu} ${nonZeroMemory}`;
}

/** Returns a score from 0 to 100 for one resource's allocation. `allocatable` is not 0. */
export type Scorer = (requested: number, allocatable: number) => number;

/** Prefers more free resources: pods are spread. */
export const leastAllocated: Scorer = (requested, allocatable) =>
  requested > allocatable
    ? 0
    : Math.trunc(((allocatable - requested) * MAX_NODE_SCORE) / allocatable);

/** Prefers less free resources: nodes are filled. */
export const mostAllocated: Scorer = (requested, allocatable) =>
  Math.trunc((Math.min(requested, allocatable) * MAX_NODE_SCORE) / allocatable);

export interface ShapePoint {
  /** In percent. */
  readonly utilization: number;
  /** From 0 to 100. */
  readonly score: number;
}

/**
 * Returns a scorer that interpolates linearly between the points. `shape`: ordered by utilization,
 * not empty.
 */
export function requestedToCapacityRatio(shape: readonly ShapePoint[]): Scorer {
  return (requested, allocatable) => {
    const utilization = requested > allocatable ? 100 : Math.trunc((requested * 100) / allocatable);
    let before: ShapePoint | undefined;
    for (const point of shape) {
      if (utilization <= point.utilization) {
        if (before === undefined) return point.score;
        const share =
          ((point.score - before.score) * (utilization - before.utilization)) /
          (point.utilization - before.utilization);
        return before.score + Math.trunc(share);
      }
      before = point;
    }
    return before?.score ?? 0;
  };
}

/** Reads the field `resources` of plugin arguments. */
export function readResources(
  reader: ConfigReader,
  maxWeight: 1 | 100,
): readonly WeightedResource[] {
  if (!reader.present) return CPU_AND_MEMORY;
  const seen = new Set<string>();
  return reader.items().map((item) => {
    item.fields('name', 'weight');
    const name = item.child('name').requiredString();
    if (seen.has(name)) item.errors.push(field.duplicate(item.child('name').path, name));
    seen.add(name);
    const why =
      maxWeight === 1 ? 'must be 1' : `resource weight of ${name} not in valid range (0, 100]`;
    // 0 means the default, too.
    return { name, weight: item.child('weight').integer(0, maxWeight, why) || 1 };
  });
}
