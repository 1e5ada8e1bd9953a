// /metrics/resource: CPU and memory of the node, its pods and containers, for metrics-server.
// Names, labels and the rule that series without a value are left out are upstream's
// (pkg/kubelet/metrics/collectors/resource_metrics.go).

import { sampleText, type Description, type Sample } from '#machinery/metrics/instruments.ts';
import type { Usage } from '../node/usage.ts';

const CONTAINER = ['container', 'pod', 'namespace'];
const POD = ['pod', 'namespace'];

/**
 * Returns the metrics. `usage`: undefined if it could not be read; the text then has only the error
 * metric.
 */
export function resourceMetrics(usage: Usage | undefined): string {
  const families: string[] = [];
  const add = (
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    labels: readonly string[],
    samples: readonly Sample[],
  ): void => {
    const description: Description = { name, help, labels };
    if (samples.length > 0) families.push(sampleText(description, type, samples));
  };
  const error: Sample[] = [[[], usage === undefined ? 1 : 0]];
  const { node, pods = [] } = usage ?? {};
  const containers = pods.flatMap((pod) =>
    pod.containers.map((container) => ({
      ...container,
      labels: [container.name, pod.name, pod.namespace],
    })),
  );
  const sample = (
    labels: readonly string[],
    value: number | undefined,
    time: number | undefined,
  ): Sample[] => (value === undefined ? [] : [[labels, value, time]]);
  const seconds = (nanoseconds: number | undefined): number | undefined =>
    nanoseconds === undefined ? undefined : nanoseconds / 1e9;

  add(
    'counter',
    'container_cpu_usage_seconds_total',
    'CPU time that the container has used, in core-seconds.',
    CONTAINER,
    containers.flatMap(({ labels, cpu }) =>
      sample(labels, seconds(cpu?.coreNanoseconds), cpu?.time),
    ),
  );
  add(
    'gauge',
    'container_memory_working_set_bytes',
    'Working set of the container.',
    CONTAINER,
    containers.flatMap(({ labels, memory }) =>
      sample(labels, memory?.workingSetBytes, memory?.time),
    ),
  );
  add(
    'gauge',
    'container_start_time_seconds',
    'When the container started, in seconds since the Unix epoch.',
    CONTAINER,
    containers.flatMap(({ labels, startedAt }) =>
      startedAt > 0 ? [[labels, startedAt / 1000] as const] : [],
    ),
  );
  add(
    'gauge',
    'container_swap_limit_bytes',
    'Swap that the container may use.',
    CONTAINER,
    containers.flatMap(({ labels, swap }) =>
      sample(
        labels,
        swap?.availableBytes === undefined
          ? undefined
          : swap.availableBytes + (swap.usageBytes ?? 0),
        swap?.time,
      ),
    ),
  );
  add(
    'gauge',
    'container_swap_usage_bytes',
    'Swap that the container uses.',
    CONTAINER,
    containers.flatMap(({ labels, swap }) => sample(labels, swap?.usageBytes, swap?.time)),
  );
  add(
    'counter',
    'node_cpu_usage_seconds_total',
    'CPU time that the node has used, in core-seconds.',
    [],
    sample([], seconds(node?.cpuNanoseconds), node?.time),
  );
  add(
    'gauge',
    'node_memory_working_set_bytes',
    'Working set of the node.',
    [],
    sample([], node?.workingSetBytes, node?.time),
  );
  add(
    'gauge',
    'node_swap_usage_bytes',
    'Swap that the node uses.',
    [],
    sample([], node?.swap?.usageBytes, node?.time),
  );
  add(
    'counter',
    'pod_cpu_usage_seconds_total',
    'CPU time that the pod has used, in core-seconds.',
    POD,
    pods.flatMap(({ name, namespace, cpu }) =>
      sample([name, namespace], seconds(cpu?.coreNanoseconds), cpu?.time),
    ),
  );
  add(
    'gauge',
    'pod_memory_working_set_bytes',
    'Working set of the pod.',
    POD,
    pods.flatMap(({ name, namespace, memory }) =>
      sample([name, namespace], memory?.workingSetBytes, memory?.time),
    ),
  );
  add(
    'gauge',
    'resource_scrape_error',
    '1 if the usage of containers could not be read, 0 otherwise.',
    [],
    error,
  );
  add(
    'gauge',
    'scrape_error',
    '1 if the usage of containers could not be read, 0 otherwise (deprecated name).',
    [],
    error,
  );
  return families.join('');
}
