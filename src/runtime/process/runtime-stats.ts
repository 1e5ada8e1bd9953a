// The stats of the process runtime: of process groups, from /proc; with isolation, of cgroups.

import {
  complete,
  type ContainerStats,
  CriError,
  type Input,
  type PodSandboxStats,
} from '#cri/index.ts';
import { attributesOf, type PodTable, type Sandbox } from '../pod-table.ts';
import type { ProcessContainer } from './container.ts';
import type { Isolation } from './isolation/isolation.ts';
import { isolatedContainerStats, isolatedSandboxStats } from './isolation/stats.ts';
import { hasStats, type Usage, usageByGroup } from './stats.ts';

export class ProcessStats {
  readonly #pods: PodTable<ProcessContainer>;
  readonly #isolation: Isolation | undefined;
  #scan: ReadonlyMap<number, Usage> | undefined;

  constructor(pods: PodTable<ProcessContainer>, isolation: Isolation | undefined) {
    this.#pods = pods;
    this.#isolation = isolation;
  }

  /** Without isolation, rejects with Unimplemented where there is no /proc. As the others. */
  ofContainer(container: ProcessContainer): Promise<ContainerStats> {
    return this.#containerStats(container, () => this.#usage());
  }

  ofContainers(containers: readonly ProcessContainer[]): Promise<readonly ContainerStats[]> {
    const usage = once(() => this.#usage());
    return Promise.all(containers.map((container) => this.#containerStats(container, usage)));
  }

  ofSandbox(sandbox: Sandbox<ProcessContainer>): Promise<PodSandboxStats> {
    return this.#podSandboxStats(sandbox, () => this.#usage());
  }

  ofSandboxes(
    sandboxes: readonly Sandbox<ProcessContainer>[],
  ): Promise<readonly PodSandboxStats[]> {
    const usage = once(() => this.#usage());
    return Promise.all(sandboxes.map((sandbox) => this.#podSandboxStats(sandbox, usage)));
  }

  async #containerStats(
    container: ProcessContainer,
    usage: () => ReadonlyMap<number, Usage>,
  ): Promise<ContainerStats> {
    if (this.#isolation === undefined) return this.#stats(container, usage());
    const { record } = this.#pods.sandbox(container.record.podSandboxId);
    return await isolatedContainerStats(this.#isolation, container, record, this.#pods.now());
  }

  async #podSandboxStats(
    sandbox: Sandbox<ProcessContainer>,
    usage: () => ReadonlyMap<number, Usage>,
  ): Promise<PodSandboxStats> {
    return this.#isolation === undefined
      ? this.#sandboxStats(sandbox, usage())
      : await isolatedSandboxStats(this.#isolation, sandbox, this.#pods.now());
  }

  /**
   * Returns the usage of the containers' process groups. Calls in one turn of the event loop share a
   * scan of /proc: kubelets ask for pods and for containers at once.
   */
  #usage(): ReadonlyMap<number, Usage> {
    if (!hasStats())
      throw new CriError(
        'Unimplemented',
        'the process runtime has stats only where there is /proc',
      );
    if (this.#scan !== undefined) return this.#scan;
    const groups = this.#pods
      .containers({ state: { state: 'CONTAINER_RUNNING' } })
      .flatMap(({ processGroup }) => processGroup ?? []);
    const scan = usageByGroup(new Set(groups));
    this.#scan = scan;
    queueMicrotask(() => (this.#scan = undefined));
    return scan;
  }

  #stats(
    { record, processGroup, running }: ProcessContainer,
    byGroup: ReadonlyMap<number, Usage>,
  ): ContainerStats {
    const usage = running && processGroup !== undefined ? byGroup.get(processGroup) : undefined;
    return complete('ContainerStats', {
      attributes: attributesOf(record),
      ...this.#usageOf(usage === undefined ? [] : [usage]),
    });
  }

  #sandboxStats(
    { record, containers }: Sandbox<ProcessContainer>,
    byGroup: ReadonlyMap<number, Usage>,
  ): PodSandboxStats {
    const running = containers.filter((container) => container.running);
    const usages = running
      .map(({ processGroup }) => byGroup.get(processGroup ?? 0))
      .filter((usage) => usage !== undefined);
    return complete('PodSandboxStats', {
      attributes: attributesOf(record),
      linux: {
        ...this.#usageOf(usages),
        process: {
          timestamp: this.#pods.now(),
          processCount: { value: usages.reduce((sum, { processes }) => sum + processes, 0) },
        },
        containers: running.map((container) => this.#stats(container, byGroup)),
      },
    });
  }

  #usageOf(usages: readonly Usage[]): { cpu: Input<'CpuUsage'>; memory: Input<'MemoryUsage'> } {
    const timestamp = this.#pods.now();
    const resident = { value: usages.reduce((sum, usage) => sum + usage.residentBytes, 0) };
    return {
      cpu: {
        timestamp,
        usageCoreNanoSeconds: {
          value: usages.reduce((sum, usage) => sum + usage.cpuNanoseconds, 0),
        },
      },
      memory: { timestamp, workingSetBytes: resident, usageBytes: resident, rssBytes: resident },
    };
  }
}

/** Returns a function that calls `make` at most once. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
