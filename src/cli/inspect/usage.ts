// The usage of nodes and pods: from /stats/summary of kubelets, or from the API of metrics. Pure; top.ts reads.

import { tryParseQuantity } from '#machinery/text/quantity.ts';

/** CPU in cores, memory in bytes. Undefined: not known. */
export interface Usage {
  readonly name: string;
  readonly namespace?: string;
  readonly node?: string;
  readonly cpu: number | undefined;
  readonly memory: number | undefined;
}

export interface Usages {
  readonly nodes: readonly Usage[];
  readonly pods: readonly Usage[];
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

/** The part of stats/v1alpha1.Summary that is read. */
export interface Summary {
  readonly node?: Sampled & { readonly nodeName?: string };
  readonly pods?: readonly (Sampled & {
    readonly podRef?: { readonly name?: string; readonly namespace?: string };
  })[];
}

/** Reports whether a second summary is needed: a CPU time is there, but no rate. */
export function needsSecond({ node, pods = [] }: Summary): boolean {
  return [node, ...pods].some(
    (each) =>
      each?.cpu?.usageNanoCores === undefined && each?.cpu?.usageCoreNanoSeconds !== undefined,
  );
}

/** Returns the usages of a node and its pods. `before`: an earlier summary, for rates that `after` does not have. */
export function usagesOf(name: string, after: Summary, before?: Summary): Usages {
  const earlier = new Map(
    (before?.pods ?? []).map((pod) => [podKey(pod.podRef), pod.cpu] as const),
  );
  return {
    nodes: [
      {
        name,
        cpu: cores(after.node?.cpu, before?.node?.cpu),
        memory: after.node?.memory?.workingSetBytes,
      },
    ],
    pods: (after.pods ?? []).map(({ podRef, cpu, memory }) => ({
      name: podRef?.name ?? '',
      namespace: podRef?.namespace ?? '',
      node: name,
      cpu: cores(cpu, earlier.get(podKey(podRef))),
      memory: memory?.workingSetBytes,
    })),
  };
}

const podKey = (ref: { readonly name?: string; readonly namespace?: string } = {}): string =>
  `${ref.namespace}/${ref.name}`;

function cores(after: Cpu | undefined, before: Cpu | undefined): number | undefined {
  if (after?.usageNanoCores !== undefined) return after.usageNanoCores / 1e9;
  const { usageCoreNanoSeconds: total, time } = after ?? {};
  const { usageCoreNanoSeconds: earlier, time: since } = before ?? {};
  if (total === undefined || earlier === undefined) return undefined;
  const elapsedMs = Date.parse(time ?? '') - Date.parse(since ?? '');
  // A counter that went back is that of a container that was replaced.
  if (!(elapsedMs > 0) || total < earlier) return undefined;
  return (total - earlier) / 1e6 / elapsedMs;
}

/** An item of NodeMetricsList or PodMetricsList (metrics.k8s.io). */
export interface MetricsItem {
  readonly metadata: { readonly name?: string; readonly namespace?: string };
  readonly usage?: Readonly<Record<string, string>>;
  readonly containers?: readonly { readonly usage?: Readonly<Record<string, string>> }[];
}

export function usageOfItem({ metadata, usage, containers }: MetricsItem): Usage {
  const all = usage === undefined ? (containers ?? []).map((each) => each.usage ?? {}) : [usage];
  const { name = '', namespace } = metadata;
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    cpu: sum(all.map((each) => each['cpu'])),
    memory: sum(all.map((each) => each['memory'])),
  };
}

function sum(texts: readonly (string | undefined)[]): number | undefined {
  let total: number | undefined;
  for (const text of texts) {
    if (text === undefined) continue;
    const value = amount(text);
    if (value !== undefined) total = (total ?? 0) + value;
  }
  return total;
}

/** Returns a quantity as a number; undefined if it is none. */
export const amount = (text: string): number | undefined => tryParseQuantity(text)?.toNumber();
