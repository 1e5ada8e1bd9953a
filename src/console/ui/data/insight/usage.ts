// The usage of nodes and pods: from metrics.k8s.io if the server has it, otherwise from the kubelets'
// /stats/summary, as `cox top` reads it.

import type { Api } from '../server/api.ts';
import { messageOf } from '../server/api-error.ts';
import type { Types } from '../server/discovery.ts';
import { parseQuantity } from '../text/quantity.ts';

/** CPU in cores, memory in bytes; NaN: not known. */
export interface Usage {
  readonly namespace: string;
  readonly name: string;
  readonly cpu: number;
  readonly memory: number;
}

export interface Usages {
  readonly source: 'metrics.k8s.io' | 'kubelets';
  readonly nodes: readonly Usage[];
  readonly pods: readonly Usage[];
  /** By node: why its kubelet has not answered. */
  readonly failures: ReadonlyMap<string, string>;
}

export interface UsageRequest {
  readonly types: Types;
  /** The names of the nodes. */
  readonly nodes: readonly string[];
  readonly what: 'nodes' | 'pods';
  /** The namespace of the pods; '' for all. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

interface Cpu {
  readonly time?: string;
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds?: number;
}

interface Sampled {
  readonly cpu?: Cpu;
  readonly memory?: { readonly workingSetBytes?: number };
}

/** The part of a kubelet's summary that is read. */
export interface Summary {
  readonly node?: Sampled;
  readonly pods?: readonly (Sampled & {
    readonly podRef?: { readonly name?: string; readonly namespace?: string };
  })[];
}

type Amounts = Readonly<Record<string, string>>;

/** An item of NodeMetricsList or PodMetricsList. */
export interface MetricsItem {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly usage?: Amounts;
  readonly containers?: readonly { readonly usage?: Amounts }[];
}

const METRICS = '/apis/metrics.k8s.io/v1beta1';
/** Kubelets that are asked at the same time, and altogether. */
const PARALLEL = 8;
export const MAX_KUBELETS = 200;

/** Reads usages again and again. It keeps the last answers of kubelets, because a rate needs two. */
export class UsageReader {
  readonly #api: Api;
  #before: ReadonlyMap<string, Summary> = new Map();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Throws ApiError if nothing may be read. */
  async read(request: UsageRequest): Promise<Usages> {
    const { types, what, namespace, signal } = request;
    if (types.byId(`${what}.metrics.k8s.io`) === undefined) return this.#fromKubelets(request);
    const place = what === 'pods' && namespace !== '' ? `/namespaces/${namespace}` : '';
    const { items } = await this.#api.json<{ items: readonly MetricsItem[] }>(
      `${METRICS}${place}/${what}`,
      { signal },
    );
    const usages = items.map(usageOfItem);
    return {
      source: 'metrics.k8s.io',
      nodes: what === 'nodes' ? usages : [],
      pods: what === 'pods' ? usages : [],
      failures: new Map(),
    };
  }

  async #fromKubelets({ nodes, namespace, signal }: UsageRequest): Promise<Usages> {
    const summaries = new Map<string, Summary>();
    const failures = new Map<string, string>();
    let failure: unknown;
    const names = nodes.slice(0, MAX_KUBELETS).values();
    const work = async (): Promise<void> => {
      for (const name of names) {
        try {
          const path = `/api/v1/nodes/${encodeURIComponent(name)}/proxy/stats/summary`;
          const query = '?only_cpu_and_memory=true';
          const options = { signal, apart: true };
          summaries.set(name, await this.#api.json<Summary>(`${path}${query}`, options));
        } catch (error) {
          signal.throwIfAborted();
          failure = error;
          failures.set(name, messageOf(error));
        }
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    if (summaries.size === 0 && failure !== undefined) throw failure;
    const before = this.#before;
    this.#before = summaries;
    const all = [...summaries].map(([name, summary]) =>
      usagesOf(name, summary, before.get(name) ?? {}),
    );
    return {
      source: 'kubelets',
      nodes: all.map(({ node }) => node),
      pods: all
        .flatMap(({ pods }) => pods)
        .filter((pod) => namespace === '' || pod.namespace === namespace),
      failures,
    };
  }
}

/** Returns the usages of a node and its pods. `before`: its last summary. */
export function usagesOf(
  name: string,
  after: Summary,
  before: Summary,
): { readonly node: Usage; readonly pods: readonly Usage[] } {
  const keyOf = (ref: { name?: string; namespace?: string } = {}): string =>
    `${ref.namespace}/${ref.name}`;
  const earlier = new Map((before.pods ?? []).map(({ podRef, cpu }) => [keyOf(podRef), cpu]));
  return {
    node: {
      namespace: '',
      name,
      cpu: coresOf(after.node?.cpu, before.node?.cpu),
      memory: after.node?.memory?.workingSetBytes ?? Number.NaN,
    },
    pods: (after.pods ?? []).map(({ podRef, cpu, memory }) => ({
      namespace: podRef?.namespace ?? '',
      name: podRef?.name ?? '',
      cpu: coresOf(cpu, earlier.get(keyOf(podRef))),
      memory: memory?.workingSetBytes ?? Number.NaN,
    })),
  };
}

function coresOf(after: Cpu | undefined, before: Cpu | undefined): number {
  if (after?.usageNanoCores !== undefined) return after.usageNanoCores / 1e9;
  const spentNs = (after?.usageCoreNanoSeconds ?? NaN) - (before?.usageCoreNanoSeconds ?? NaN);
  const elapsedMs = Date.parse(after?.time ?? '') - Date.parse(before?.time ?? '');
  // A counter that went back is that of a container that was replaced.
  return elapsedMs > 0 && spentNs >= 0 ? spentNs / 1e6 / elapsedMs : Number.NaN;
}

/** Returns the usage of an item of metrics.k8s.io: the sum of its containers. */
export function usageOfItem({ metadata, usage, containers = [] }: MetricsItem): Usage {
  const parts = usage === undefined ? containers.map((each) => each.usage ?? {}) : [usage];
  const sum = (field: string): number =>
    parts.reduce((total, part) => total + parseQuantity(part[field] ?? ''), 0);
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    cpu: sum('cpu'),
    memory: sum('memory'),
  };
}
