// NodeResourcesFit: a pod runs only where its requests are available. Its scoring strategy prefers
// emptier nodes (LeastAllocated, the default), fuller ones (MostAllocated), or follows a curve
// (RequestedToCapacityRatio).

import type { DeviceClass } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import { isQualifiedName } from '#machinery/validation/validation.ts';
import type { ConfigReader } from '../config/reader.ts';
import { ActionType, clusterEvent, type QueueingHint, UPDATE } from '../framework/events.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { Node, Pod } from '../framework/objects.ts';
import type { FilterPlugin, ScorePlugin } from '../framework/plugin.ts';
import { PodInfo } from '../framework/pod-info.ts';
import { isExtendedResourceName } from '#api/groups/core/v1/extended-resource.ts';
import { Resource } from '../framework/resource.ts';
import { Status } from '../framework/status.ts';
import { readArgs } from './args.ts';
import { ExtendedResources, providesAny } from './extended-resources.ts';
import { nodesOf, podsOf } from './hints.ts';
import {
  type Allocation,
  allocationOf,
  leastAllocated,
  mostAllocated,
  readResources,
  requestedToCapacityRatio,
  type Scorer,
  scoreTemplate,
  type WeightedResource,
} from './resource-scoring.ts';

const NAME = 'NodeResourcesFit';

interface FitArgs {
  /** Reports whether the extended resource is managed elsewhere. */
  readonly ignored: (resource: string) => boolean;
  readonly score: (pod: PodInfo, node: NodeInfo) => number;
}

export const nodeResourcesFit: PluginRegistration = {
  name: NAME,
  create(args, handle) {
    const extended = new ExtendedResources(handle);
    const byDevices = (resource: string): boolean => extended.classFor(resource) !== undefined;
    const { ignored, score } = readArgs(
      NAME,
      args,
      ['ignoredResources', 'ignoredResourceGroups', 'scoringStrategy'],
      readFitArgs,
    );
    return {
      name: NAME,
      filter: (_state, pod, node) => refusal(pod, node, ignored, byDevices),
      score: (_state, pod, node) => score(pod, node),
      filterTemplate: ({ requests }) =>
        requests.scalars === undefined ? requests.text() : `${requests.text()} ${extended.version}`,
      scoreTemplate,
      eventsToRegister: () => [
        { event: clusterEvent('AssignedPod', ActionType.Delete, 'AssignedPodDelete') },
        {
          event: clusterEvent('Pod', ActionType.UpdatePodScaleDown, 'PodScaleDown'),
          hint: scaledDown,
        },
        {
          event: clusterEvent('Node', ActionType.Add | ActionType.UpdateNodeAllocatable, 'Node'),
          hint: offersMore(ignored, byDevices),
        },
        {
          event: clusterEvent('DeviceClass', ActionType.Add | UPDATE, 'DeviceClass'),
          hint: providesMore,
        },
      ],
    } satisfies FilterPlugin & ScorePlugin;
  },
};

/** The insufficient resources as bits, so that common statuses are created once. */
const PODS = 1;
const CPU = 2;
const MEMORY = 4;
const STORAGE = 8;
/** More than the node's total: removing pods would not help. */
const HOPELESS = 16;

const REASONS: readonly (readonly [number, string])[] = [
  [PODS, 'Too many pods'],
  [CPU, 'Insufficient cpu'],
  [MEMORY, 'Insufficient memory'],
  [STORAGE, 'Insufficient ephemeral-storage'],
];

const statuses: readonly Status[] = Array.from({ length: 32 }, (_, bits) => statusFor(bits, []));

function statusFor(bits: number, more: readonly string[]): Status {
  const reasons = [
    ...REASONS.filter(([bit]) => (bits & bit) !== 0).map(([, reason]) => reason),
    ...more,
  ];
  return new Status(
    (bits & HOPELESS) !== 0 ? 'UnschedulableAndUnresolvable' : 'Unschedulable',
    reasons,
    NAME,
  );
}

/** Returns the status of a rejection; undefined if the pod fits. */
export function refusal(
  pod: PodInfo,
  node: NodeInfo,
  ignored: (resource: string) => boolean = () => false,
  byDevices: (resource: string) => boolean = () => false,
): Status | undefined {
  const { requests } = pod;
  const { allocatable, requested } = node;
  let bits = 0;
  if (node.pods.length + 1 > allocatable.pods) bits |= PODS;
  if (requests.milliCpu > 0 && requests.milliCpu > allocatable.milliCpu - requested.milliCpu) {
    bits |= requests.milliCpu > allocatable.milliCpu ? CPU | HOPELESS : CPU;
  }
  if (requests.memory > 0 && requests.memory > allocatable.memory - requested.memory) {
    bits |= requests.memory > allocatable.memory ? MEMORY | HOPELESS : MEMORY;
  }
  if (
    requests.ephemeralStorage > 0 &&
    requests.ephemeralStorage > allocatable.ephemeralStorage - requested.ephemeralStorage
  ) {
    bits |= requests.ephemeralStorage > allocatable.ephemeralStorage ? STORAGE | HOPELESS : STORAGE;
  }
  let more: string[] | undefined;
  if (requests.scalars !== undefined) {
    for (const [name, amount] of requests.scalars) {
      if (amount === 0 || ignored(name)) continue;
      const total = allocatable.scalar(name);
      if (amount <= total - requested.scalar(name)) continue;
      // The node itself does not have the resource: DynamicResources checks devices.
      if (total === 0 && byDevices(name)) continue;
      more ??= [];
      more.push(`Insufficient ${name}`);
      if (amount > total) bits |= HOPELESS;
    }
  }
  if (more !== undefined) return statusFor(bits, more);
  return bits === 0 ? undefined : statuses[bits];
}

/**
 * Returns true if the waiting pod requests less now, or a bound pod released some of the resources
 * that this one needs.
 */
const scaledDown: QueueingHint = (pod, objects) => {
  const { before, after } = podsOf(objects);
  if (after?.metadata.uid === pod.metadata.uid) return true;
  if (before === undefined || after === undefined || !after.spec.nodeName) return false;
  const [old, now] = [new PodInfo(before).requests, new PodInfo(after).requests];
  return namesAsked(pod).some((name) => now.get(name) < old.get(name));
};

/**
 * Reports whether the pod would fit the empty node, and did not before or the node has more of the
 * requested resources now.
 */
function offersMore(
  ignored: (resource: string) => boolean,
  byDevices: (resource: string) => boolean,
): QueueingHint {
  return (pod, objects) => {
    const { before, after } = nodesOf(objects);
    if (after === undefined || !fitsEmpty(pod, after, ignored, byDevices)) return false;
    if (before === undefined) return true;
    const [old, now] = [
      Resource.of(before.status.allocatable),
      Resource.of(after.status.allocatable),
    ];
    return now.pods > old.pods || namesAsked(pod).some((name) => now.get(name) > old.get(name));
  };
}

/** Returns true if the class provides a resource that the pod requests. */
const providesMore: QueueingHint = (pod, { after }) =>
  after !== undefined && providesAny(after as Immutable<DeviceClass>, namesAsked(pod));

function fitsEmpty(
  pod: Pod,
  node: Node,
  ignored: (resource: string) => boolean,
  byDevices: (resource: string) => boolean,
): boolean {
  const { requests } = new PodInfo(pod);
  const allocatable = Resource.of(node.status.allocatable);
  if (allocatable.pods < 1) return false;
  return namesOf(requests).every((name) => {
    const total = allocatable.get(name);
    return ignored(name) || requests.get(name) <= total || (total === 0 && byDevices(name));
  });
}

function namesAsked(pod: Pod): readonly string[] {
  return namesOf(new PodInfo(pod).requests);
}

function namesOf(requests: Resource): readonly string[] {
  return ['cpu', 'memory', 'ephemeral-storage', ...(requests.scalars?.keys() ?? [])].filter(
    (name) => requests.get(name) > 0,
  );
}

function readFitArgs(reader: ConfigReader): FitArgs {
  const resources = new Set(reader.child('ignoredResources').items().map(readResourceName));
  const groups = new Set(
    reader
      .child('ignoredResourceGroups')
      .items()
      .map((item) => {
        const group = readResourceName(item);
        if (group.includes('/'))
          item.errors.push(
            field.invalid(item.path, group, "resource group name can't contain '/'"),
          );
        return group;
      }),
  );
  const ignored = (name: string): boolean =>
    isExtendedResourceName(name) &&
    (resources.has(name) || groups.has(name.slice(0, name.indexOf('/'))));
  return { ignored, score: readScoringStrategy(reader.child('scoringStrategy')) };
}

function readResourceName(reader: ConfigReader): string {
  const name = reader.requiredString();
  if (name !== '')
    for (const why of isQualifiedName(name))
      reader.errors.push(field.invalid(reader.path, name, why));
  return name;
}

function readScoringStrategy(reader: ConfigReader): FitArgs['score'] {
  reader.fields('type', 'resources', 'requestedToCapacityRatio');
  const type =
    reader.child('type').oneOf('LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio') ??
    'LeastAllocated';
  const resources = readResources(reader.child('resources'), 100);
  const ratio = reader.child('requestedToCapacityRatio');
  if (type === 'RequestedToCapacityRatio') {
    if (ratio.present) return byRatio(resources, readShape(ratio));
    reader.errors.push(
      field.required(ratio.path, 'must be specified when type is RequestedToCapacityRatio'),
    );
    return () => 0;
  }
  if (ratio.present) {
    reader.errors.push(
      field.forbidden(ratio.path, 'must be nil when type is not RequestedToCapacityRatio'),
    );
  }
  return byShare(resources, type === 'MostAllocated' ? mostAllocated : leastAllocated);
}

/**
 * Returns the weighted score of the resources; resources that the node does not have are left out.
 */
function byShare(resources: readonly WeightedResource[], scorer: Scorer): FitArgs['score'] {
  const allocation: Allocation = { requested: 0, allocatable: 0 };
  return (pod, node) => {
    let sum = 0;
    let weights = 0;
    for (const { name, weight } of resources) {
      allocationOf(name, pod, node, true, allocation);
      if (allocation.allocatable === 0) continue;
      sum += scorer(allocation.requested, allocation.allocatable) * weight;
      weights += weight;
    }
    return weights === 0 ? 0 : Math.trunc(sum / weights);
  };
}

/** Returns the weighted score of the resources; resources with the score 0 are left out. */
function byRatio(resources: readonly WeightedResource[], scorer: Scorer): FitArgs['score'] {
  const allocation: Allocation = { requested: 0, allocatable: 0 };
  return (pod, node) => {
    let sum = 0;
    let weights = 0;
    for (const { name, weight } of resources) {
      allocationOf(name, pod, node, true, allocation);
      if (allocation.allocatable === 0) continue;
      const score = scorer(allocation.requested, allocation.allocatable);
      if (score <= 0) continue;
      sum += score * weight;
      weights += weight;
    }
    return weights === 0 ? 0 : Math.round(sum / weights);
  };
}

/** Reads the curve. Scores are given from 0 to 10. */
function readShape(reader: ConfigReader): Scorer {
  reader.fields('shape');
  const shape = reader.child('shape');
  let last = -1;
  const points = shape.items().map((item) => {
    item.fields('utilization', 'score');
    const utilization = item.child('utilization').integer(0, 100) ?? 0;
    if (utilization <= last) {
      item.errors.push(
        field.invalid(
          item.child('utilization').path,
          utilization,
          'values must be sorted in increasing order',
        ),
      );
    }
    last = utilization;
    return { utilization, score: (item.child('score').integer(0, 10) ?? 0) * 10 };
  });
  if (points.length === 0)
    reader.errors.push(field.required(shape.path, 'at least one point must be specified'));
  return requestedToCapacityRatio(points);
}
