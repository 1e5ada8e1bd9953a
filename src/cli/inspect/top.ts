// `cox top nodes|pods`: what they use, from the API of metrics if it is served, otherwise from the kubelets.

import type { Client } from '#client/client.ts';
import type { Connection } from '#client/connect.ts';
import { servedResources } from '#client/explain/index.ts';
import { nodes as nodeType } from '#api/groups/core/v1/index.ts';
import { UserError } from '#cluster/user-error.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { printable } from '#machinery/text/printable.ts';
import { type ConnectionFlags, withConnection } from './connection.ts';
import { briefProgress, type OutputFlags, table, writeJson } from './output.ts';
import {
  amount,
  type MetricsItem,
  needsSecond,
  type Summary,
  type Usage,
  usageOfItem,
  type Usages,
  usagesOf,
} from './usage.ts';

export interface TopFlags extends ConnectionFlags, OutputFlags {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly sortBy?: 'cpu' | 'memory' | 'name';
}

const METRICS = 'metrics.k8s.io';
/** Between two looks at counters. */
const SAMPLE_MS = 1000;
/** Kubelets that are asked at the same time. */
const CONCURRENCY = 16;
const PAGE = 500;

interface Found extends Usages {
  readonly source: 'kubelets' | typeof METRICS;
  /** By node: the capacity that pods can use. */
  readonly allocatable: ReadonlyMap<string, { readonly cpu: number; readonly memory: number }>;
  /** By node: why its kubelet did not answer. */
  readonly failures: ReadonlyMap<string, string>;
}

export async function top(what: 'nodes' | 'pods', flags: TopFlags): Promise<void> {
  const { found, namespace } = await withConnection(flags, async (connection) => ({
    found: await read(connection, what, flags),
    namespace: flags.namespace ?? connection.namespace,
  }));
  const chosen =
    what === 'nodes'
      ? found.nodes
      : found.pods.filter((pod) => flags.allNamespaces === true || pod.namespace === namespace);
  const sorted = chosen.toSorted(orderOf(flags.sortBy ?? 'name'));
  const failures = Object.fromEntries(found.failures);
  if (flags.output === 'json') writeJson({ source: found.source, [what]: sorted, failures });
  else process.stdout.write(what === 'nodes' ? nodeTable(sorted, found) : podTable(sorted));
  if (flags.output !== 'json' && sorted.length === 0)
    process.stderr.write(`no ${what}${what === 'pods' ? ` in ${namespace}: see -A` : ''}\n`);
  for (const [node, reason] of flags.output === 'json' ? [] : found.failures)
    process.stderr.write(`${printable(`no metrics of node ${node}: ${reason}`)}\n`);
}

function orderOf(by: 'cpu' | 'memory' | 'name'): (a: Usage, b: Usage) => number {
  if (by === 'name')
    return (a, b) => (`${a.namespace ?? ''}/${a.name}` < `${b.namespace ?? ''}/${b.name}` ? -1 : 1);
  return (a, b) => (b[by] ?? -1) - (a[by] ?? -1);
}

async function read(
  { client }: Connection,
  what: 'nodes' | 'pods',
  flags: TopFlags,
): Promise<Found> {
  const progress = briefProgress(flags);
  try {
    progress.show('reading metrics');
    const served = await servedResources(client);
    const nodes = await allNodes(client);
    const allocatable = new Map(
      nodes.map(({ name, cpu, memory }) => [name, { cpu, memory }] as const),
    );
    if (served.some(({ group, resource }) => group === METRICS && resource === what)) {
      const items = await metricsItems(client, what);
      const usages = items.map(usageOfItem);
      return {
        source: METRICS,
        nodes: what === 'nodes' ? usages : [],
        pods: what === 'pods' ? usages : [],
        allocatable,
        failures: new Map(),
      };
    }
    const failures = new Map<string, string>();
    const usages = await fromKubelets(
      client,
      nodes.map(({ name }) => name),
      failures,
      (done) => progress.show('asking kubelets', `${done} of ${nodes.length}`),
    );
    if (usages.length === 0 && nodes.length > 0) throw noMetrics(failures);
    return {
      source: 'kubelets',
      nodes: usages.flatMap((each) => each.nodes),
      pods: usages.flatMap((each) => each.pods),
      allocatable,
      failures,
    };
  } finally {
    progress.clear();
  }
}

function noMetrics(failures: ReadonlyMap<string, string>): UserError {
  const [[node, reason] = ['', '']] = failures;
  return new UserError(
    `there are no metrics: the server has no ${METRICS} (metrics-server serves it), and no kubelet answers ` +
      `through nodes/proxy (${node}: ${reason})`,
  );
}

async function allNodes(
  client: Client,
): Promise<readonly { readonly name: string; readonly cpu: number; readonly memory: number }[]> {
  const found = [];
  let token: string | undefined;
  do {
    const page = await client
      .resource(nodeType)
      .list({ limit: PAGE, ...(token !== undefined && { continue: token }) });
    for (const { metadata, status } of page.items) {
      const { cpu = '', memory = '' } = status?.allocatable ?? {};
      found.push({
        name: metadata.name ?? '',
        cpu: amount(cpu) ?? 0,
        memory: amount(memory) ?? 0,
      });
    }
    token = page.metadata.continue || undefined;
  } while (token !== undefined);
  return found;
}

async function metricsItems(
  client: Client,
  what: 'nodes' | 'pods',
): Promise<readonly MetricsItem[]> {
  const { items } = await client.transport.request<{ readonly items: readonly MetricsItem[] }>({
    method: 'GET',
    path: `/apis/${METRICS}/v1beta1/${what}`,
  });
  return items;
}

async function fromKubelets(
  client: Client,
  names: readonly string[],
  failures: Map<string, string>,
  onDone: (done: number) => void,
): Promise<readonly Usages[]> {
  const ask = (wanted: readonly string[]): Promise<ReadonlyMap<string, Summary>> =>
    summaries(client, wanted, failures, onDone);
  const first = await ask(names);
  const again = [...first].filter(([, summary]) => needsSecond(summary)).map(([name]) => name);
  if (again.length > 0) await systemClock.sleep(SAMPLE_MS);
  const second = again.length > 0 ? await ask(again) : new Map<string, Summary>();
  return [...first].map(([name, summary]) => {
    const later = second.get(name);
    return later === undefined ? usagesOf(name, summary) : usagesOf(name, later, summary);
  });
}

async function summaries(
  client: Client,
  names: readonly string[],
  failures: Map<string, string>,
  onDone: (done: number) => void,
): Promise<ReadonlyMap<string, Summary>> {
  const found = new Map<string, Summary>();
  const left = names.values();
  let done = 0;
  const work = async (): Promise<void> => {
    for (const name of left) {
      try {
        const path = `/api/v1/nodes/${encodeURIComponent(name)}/proxy/stats/summary`;
        // The kubelet's answer is no object of the API.
        const text = await client.transport.text({
          method: 'GET',
          path,
          query: { only_cpu_and_memory: true },
        });
        found.set(name, JSON.parse(text) as Summary);
      } catch (error) {
        if (apierrors.isUnauthorized(error)) throw error;
        failures.set(name, errorMessage(error));
      }
      onDone(++done);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return found;
}

/** As kubectl top: millicores, and MiB. */
const cpuText = (cores: number | undefined): string =>
  cores === undefined ? '<unknown>' : `${Math.ceil(cores * 1000)}m`;
const memoryText = (bytes: number | undefined): string =>
  bytes === undefined ? '<unknown>' : `${Math.round(bytes / (1 << 20))}Mi`;
const share = (value: number | undefined, of: number | undefined): string =>
  value === undefined || !of ? '<unknown>' : `${Math.round((value / of) * 100)}%`;

function nodeTable(usages: readonly Usage[], { allocatable }: Found): string {
  if (usages.length === 0) return '';
  const rows = usages.map(({ name, cpu, memory }) => {
    const of = allocatable.get(name);
    return [name, cpuText(cpu), share(cpu, of?.cpu), memoryText(memory), share(memory, of?.memory)];
  });
  return table([['NAME', 'CPU(cores)', 'CPU(%)', 'MEMORY(bytes)', 'MEMORY(%)'], ...rows]);
}

function podTable(usages: readonly Usage[]): string {
  if (usages.length === 0) return '';
  const rows = usages.map(({ name, namespace = '', cpu, memory }) => [
    namespace,
    name,
    cpuText(cpu),
    memoryText(memory),
  ]);
  return table([['NAMESPACE', 'NAME', 'CPU(cores)', 'MEMORY(bytes)'], ...rows]);
}
