// The plugins in the tree, and the default profile.

import type { EnabledPlugin } from '../config/configuration.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import { defaultBinder } from './default-binder.ts';
import { defaultPreemption } from './default-preemption/default-preemption.ts';
import { dynamicResources } from './dynamic-resources/dynamic-resources.ts';
import { imageLocality } from './image-locality.ts';
import { interPodAffinity } from './inter-pod-affinity/inter-pod-affinity.ts';
import { nodeAffinity } from './node-affinity.ts';
import { nodeDeclaredFeatures } from './node-declared-features.ts';
import { nodeName } from './node-name.ts';
import { nodePorts } from './node-ports.ts';
import { nodeResourcesBalancedAllocation } from './node-resources-balanced-allocation.ts';
import { nodeResourcesFit } from './node-resources-fit.ts';
import { nodeUnschedulable } from './node-unschedulable.ts';
import { nodeVolumeLimits } from './node-volume-limits.ts';
import { podTopologySpread } from './pod-topology-spread/pod-topology-spread.ts';
import { prioritySort } from './priority-sort.ts';
import { random } from './random.ts';
import { roundRobin } from './round-robin.ts';
import { schedulingGates } from './scheduling-gates.ts';
import { taintToleration } from './taint-toleration.ts';
import { volumeBinding } from './volume-binding/volume-binding.ts';
import { volumeRestrictions } from './volume-restrictions.ts';
import { volumeZone } from './volume-zone.ts';

export type Registry = ReadonlyMap<string, PluginRegistration>;

/** Every plugin that a profile can name. */
export const inTreeRegistry: Registry = registryOf([
  schedulingGates,
  prioritySort,
  nodeUnschedulable,
  nodeName,
  taintToleration,
  nodeAffinity,
  nodePorts,
  nodeResourcesFit,
  volumeRestrictions,
  nodeVolumeLimits,
  volumeBinding,
  volumeZone,
  podTopologySpread,
  interPodAffinity,
  dynamicResources,
  defaultPreemption,
  nodeResourcesBalancedAllocation,
  imageLocality,
  defaultBinder,
  nodeDeclaredFeatures,
  random,
  roundRobin,
]);

/**
 * The default profile's plugins at every extension point that they implement, in upstream's order
 * and with upstream's weights.
 */
export const defaultPlugins: readonly EnabledPlugin[] = [
  { name: schedulingGates.name, weight: 0 },
  { name: prioritySort.name, weight: 0 },
  { name: nodeUnschedulable.name, weight: 0 },
  { name: nodeName.name, weight: 0 },
  { name: taintToleration.name, weight: 3 },
  { name: nodeAffinity.name, weight: 2 },
  { name: nodePorts.name, weight: 0 },
  { name: nodeResourcesFit.name, weight: 1 },
  { name: volumeRestrictions.name, weight: 0 },
  { name: nodeVolumeLimits.name, weight: 0 },
  { name: volumeBinding.name, weight: 0 },
  { name: volumeZone.name, weight: 0 },
  { name: podTopologySpread.name, weight: 2 },
  { name: interPodAffinity.name, weight: 2 },
  // Before preemption: deallocating unused devices is better than evicting pods.
  { name: dynamicResources.name, weight: 2 },
  { name: defaultPreemption.name, weight: 0 },
  { name: nodeResourcesBalancedAllocation.name, weight: 1 },
  { name: imageLocality.name, weight: 1 },
  { name: defaultBinder.name, weight: 0 },
  { name: nodeDeclaredFeatures.name, weight: 0 },
];

export function registryOf(registrations: readonly PluginRegistration[]): Registry {
  return new Map(registrations.map((registration) => [registration.name, registration]));
}
