// Requests and limits of pods as metrics: a series for each pod and resource, so they have a path
// of their own.
// https://kubernetes.io/docs/concepts/cluster-administration/system-metrics/#kube-scheduler-metrics

import { gaugeText, type Sample } from '#machinery/metrics/instruments.ts';
import type { Pod } from '../framework/objects.ts';
import { podLimits, podRequests } from '../framework/pod-requests.ts';
import type { Resource } from '../framework/resource.ts';

const LABELS = ['namespace', 'pod', 'node', 'scheduler', 'priority', 'resource', 'unit'];

/** Returns the metrics in Prometheus' text format. Ended pods use nothing and are left out. */
export function podResourcesText(pods: Iterable<Pod>): string {
  const requests: Sample[] = [];
  const limits: Sample[] = [];
  for (const pod of pods) {
    const { phase } = pod.status;
    if ((pod.spec.nodeName ?? '') !== '' && (phase === 'Succeeded' || phase === 'Failed')) continue;
    for (const [resource, amount] of amountsOf(podRequests(pod).requests))
      add(requests, pod, resource, amount);
    for (const [resource, amount] of podLimits(pod)) add(limits, pod, resource, amount);
  }
  const text = (name: string, help: string, samples: readonly Sample[]): string =>
    samples.length === 0
      ? ''
      : gaugeText({ name, help: `[STABLE] ${help}`, labels: LABELS }, samples);
  return (
    text('kube_pod_resource_limit', 'What pods may use at most.', limits) +
    text('kube_pod_resource_request', 'What pods request.', requests)
  );
}

function* amountsOf({
  milliCpu,
  memory,
  ephemeralStorage,
  scalars,
}: Resource): Iterable<readonly [string, number]> {
  yield ['cpu', milliCpu];
  yield ['memory', memory];
  yield ['ephemeral-storage', ephemeralStorage];
  yield* scalars ?? [];
}

function add(samples: Sample[], { metadata, spec }: Pod, resource: string, amount: number): void {
  if (amount === 0) return;
  const { nodeName = '', schedulerName = '', priority } = spec;
  const value = resource === 'cpu' ? amount / 1000 : amount;
  samples.push([
    [
      metadata.namespace ?? '',
      metadata.name,
      nodeName,
      schedulerName,
      priority === undefined ? '' : String(priority),
      resource,
      unitOf(resource),
    ],
    value,
  ]);
}

function unitOf(resource: string): string {
  if (resource === 'cpu') return 'cores';
  if (
    ['memory', 'storage', 'ephemeral-storage'].includes(resource) ||
    resource.startsWith('hugepages-')
  )
    return 'bytes';
  return resource.startsWith('attachable-volumes-') ? 'integer' : '';
}
