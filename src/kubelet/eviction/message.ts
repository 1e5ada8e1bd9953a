// The texts of evictions, which clients see: upstream's.

import { ownValue } from '#machinery/collections/string-map.ts';
import { newQuantity, parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import type { Pod } from '../types.ts';
import type { Observations } from './observations.ts';
import type { ContainerStatsForEviction, PodStats } from './pod-stats.ts';
import { hasPodLevelResources } from './requests.ts';
import { resourceOf, type StarvedResource } from './signals.ts';
import { type Threshold, thresholdQuantity } from './thresholds.ts';

export interface EvictionMessage {
  readonly message: string;
  /** The annotations of the event. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Returns why a pod is evicted. `thresholds`: those that are met. */
export function evictionMessage(
  resource: StarvedResource,
  pod: Pod,
  stats: PodStats | undefined,
  thresholds: readonly Threshold[],
  observations: Observations,
): EvictionMessage {
  let message = `The node was low on resource: ${resource}. ${thresholdText(resource, thresholds, observations)}`;
  if (stats === undefined) return { message, annotations: {} };
  const annotations: Record<string, string> = {};
  const podRequest = pod.spec.resources?.requests?.['memory'];
  if (
    resource === 'memory' &&
    hasPodLevelResources(pod) &&
    podRequest !== undefined &&
    stats.memoryBytes !== undefined
  ) {
    const usage = bytes(stats.memoryBytes).toString();
    message += consumptionText(`Pod ${pod.metadata.name}`, usage, podRequest, resource);
    annotations['offending_pod'] = pod.metadata.name;
    annotations['offending_pod_usage'] = usage;
  }
  const names: string[] = [];
  const usages: string[] = [];
  for (const container of stats.containers) {
    const spec = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(
      ({ name }) => name === container.name,
    );
    if (spec === undefined) continue;
    const request = ownValue(spec.resources?.requests ?? {}, resource) ?? '0';
    const usage = usageOf(container, resource);
    if (usage === undefined || usage.cmp(parseQuantity(request)) <= 0) continue;
    message += consumptionText(`Container ${spec.name}`, usage.toString(), request, resource);
    names.push(spec.name);
    usages.push(usage.toString());
  }
  annotations['offending_containers'] = names.join(',');
  annotations['offending_containers_usage'] = usages.join(',');
  annotations['starved_resource'] = resource;
  return { message, annotations };
}

function thresholdText(
  resource: StarvedResource,
  thresholds: readonly Threshold[],
  observations: Observations,
): string {
  for (const { signal, value } of thresholds) {
    const observed = observations.get(signal);
    if (resourceOf(signal) !== resource || observed === undefined) continue;
    const isCount = resource === 'inodes' || resource === 'pids';
    const available = newQuantity(observed.available, isCount ? 'DecimalSI' : 'BinarySI');
    const quantity = thresholdQuantity(value, observed.capacity);
    return `Threshold quantity: ${quantity.toString()}, available: ${available.toString()}. `;
  }
  return '';
}

function consumptionText(
  subject: string,
  usage: string,
  request: string,
  resource: StarvedResource,
): string {
  return (
    `${subject} was using ${usage}, request is ${parseQuantity(request).toString()}, ` +
    `has larger consumption of ${resource}. `
  );
}

function usageOf(
  { memoryBytes, rootfs, logs }: ContainerStatsForEviction,
  resource: StarvedResource,
): Quantity | undefined {
  if (resource === 'memory') return memoryBytes === undefined ? undefined : bytes(memoryBytes);
  if (resource !== 'ephemeral-storage') return undefined;
  if (rootfs?.usedBytes === undefined || logs?.usedBytes === undefined) return undefined;
  return bytes(rootfs.usedBytes + logs.usedBytes);
}

const bytes = (count: number): Quantity => newQuantity(count, 'BinarySI');
