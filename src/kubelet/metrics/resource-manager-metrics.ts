// Metrics of the managers of CPUs, memory and topology, with upstream's names.

import {
  type Counter,
  exponentialBuckets,
  type Family,
  type Histogram,
  type Instruments,
} from '#machinery/metrics/instruments.ts';
import type { CpuMetrics } from '../resource-managers/cpu/cpu-manager.ts';
import type { MemoryMetrics } from '../resource-managers/memory/memory-manager.ts';
import type { TopologyMetrics, TopologyScope } from '../resource-managers/topology-manager.ts';

type Boundary = 'numa_node' | 'physical_cpu' | 'uncore_cache';

export class ResourceManagerMetrics implements CpuMetrics, MemoryMetrics, TopologyMetrics {
  readonly #cpuRequests: Family<Counter>;
  readonly #cpuErrors: Family<Counter>;
  readonly #memoryRequests: Family<Counter>;
  readonly #memoryErrors: Family<Counter>;
  readonly #topologyRequests: Family<Counter>;
  readonly #topologyErrors: Family<Counter>;
  readonly #topologyDuration: Family<Histogram>;
  readonly #aligned: Family<Counter>;
  readonly #notAligned: Family<Counter>;
  #sharedMilli = 0;
  #exclusive: ReadonlyMap<number, number> = new Map();

  constructor(instruments: Instruments) {
    const counter = (name: string, help: string, ...labels: string[]): Family<Counter> =>
      instruments.counter({ name: `kubelet_${name}`, help, labels });
    this.#cpuRequests = counter(
      'cpu_manager_pinning_requests_total',
      'Containers that asked for exclusive CPUs.',
    );
    this.#cpuErrors = counter(
      'cpu_manager_pinning_errors_total',
      'Containers that did not get their exclusive CPUs.',
    );
    this.#memoryRequests = counter(
      'memory_manager_pinning_requests_total',
      'Containers that asked for memory on certain NUMA nodes.',
    );
    this.#memoryErrors = counter(
      'memory_manager_pinning_errors_total',
      'Containers that did not get their memory.',
    );
    this.#topologyRequests = counter(
      'topology_manager_admission_requests_total',
      'Pods whose resources had to be aligned.',
    );
    this.#topologyErrors = counter(
      'topology_manager_admission_errors_total',
      'Pods whose resources could not be aligned.',
    );
    this.#topologyDuration = instruments.histogram(
      {
        name: 'kubelet_topology_manager_admission_duration_ms',
        help: 'Duration of the admission of a pod, in milliseconds.',
        labels: [],
      },
      exponentialBuckets(0.05, 2, 15),
    );
    this.#aligned = counter(
      'container_aligned_compute_resources_count',
      'Allocations of aligned resources, by scope and boundary.',
      'scope',
      'boundary',
    );
    this.#notAligned = counter(
      'container_aligned_compute_resources_failure_count',
      'Allocations that could not be aligned, by scope and boundary.',
      'scope',
      'boundary',
    );
    const gauge = (name: string, help: string, value: () => number): void =>
      instruments.gauge({ name: `kubelet_${name}`, help, labels: [] }, () => [[[], value()]]);
    gauge(
      'cpu_manager_shared_pool_size_millicores',
      'CPUs that containers share, in thousandths.',
      () => this.#sharedMilli,
    );
    gauge(
      'cpu_manager_exclusive_cpu_allocation_count',
      'CPUs that containers have exclusively.',
      () => [...this.#exclusive.values()].reduce((sum, count) => sum + count, 0),
    );
    instruments.gauge(
      {
        name: 'kubelet_cpu_manager_allocation_per_numa',
        help: 'CPUs that containers have exclusively, by NUMA node.',
        labels: ['numa_node'],
      },
      () => [...this.#exclusive].map(([node, count]) => [[String(node)], count]),
    );
    // Counters without labels exist from the start, as upstream's do.
    for (const family of [
      this.#cpuRequests,
      this.#cpuErrors,
      this.#memoryRequests,
      this.#memoryErrors,
      this.#topologyRequests,
      this.#topologyErrors,
    ])
      family.with();
    this.#topologyDuration.with();
  }

  cpusRequested(): void {
    this.#cpuRequests.with().value++;
  }

  cpusRejected(): void {
    this.#cpuErrors.with().value++;
  }

  cpusAligned(boundary: 'physical_cpu' | 'uncore_cache', isAligned: boolean): void {
    this.#count('container', boundary, isAligned);
  }

  cpusAssigned(shared: number, exclusive: ReadonlyMap<number, number>): void {
    this.#sharedMilli = shared * 1000;
    // A node whose last exclusive CPU is released has 0.
    const cleared = [...this.#exclusive.keys()].map((node) => [node, 0] as const);
    this.#exclusive = new Map([...cleared, ...exclusive]);
  }

  memoryRequested(): void {
    this.#memoryRequests.with().value++;
  }

  memoryRejected(): void {
    this.#memoryErrors.with().value++;
  }

  topologyRequested(): void {
    this.#topologyRequests.with().value++;
  }

  topologyRejected(): void {
    this.#topologyErrors.with().value++;
  }

  topologyDecided(milliseconds: number): void {
    this.#topologyDuration.with().observe(milliseconds);
  }

  topologyAligned(scope: TopologyScope, isAligned: boolean): void {
    this.#count(scope, 'numa_node', isAligned);
  }

  #count(scope: TopologyScope, boundary: Boundary, isAligned: boolean): void {
    (isAligned ? this.#aligned : this.#notAligned).with(scope, boundary).value++;
  }
}
