// The resource pods of metrics.k8s.io, which is not stored: each request measures, on the nodes of
// the selected pods only.

import { allSchemas } from '#api/all-schemas.ts';
import type { Node, Pod } from '#api/groups/core/v1/index.ts';
import { type PodMetrics, podMetrics } from '#api/groups/metrics/v1beta1/index.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { KindDefinition } from '#apiserver/catalog/define-kind.ts';
import type { NodeTarget } from '#apiserver/node-connector.ts';
import { targetOf } from '#apiserver/node-proxy/pod-target.ts';
import { FreshObject } from '#apiserver/registry/encoded-object.ts';
import type { Rest } from '#apiserver/registry/rest.ts';
import { metadataFields } from '#apiserver/registry/selectable-fields.ts';
import { podKey, type Usage } from '#apiserver/resource-metrics/index.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import {
  measuredAt,
  METRICS_COLUMNS,
  NO_VERSION,
  resourcesOf,
  type ResourceMetricsServices,
  visibility,
} from './usage-fields.ts';

const MESSAGE = allSchemas.message('metrics/v1beta1.PodMetrics');
const PODS = { group: '', resource: 'pods' } as const;

function podMetricsRest(services: ResourceMetricsServices): Rest {
  const { find, findAll, nodeSamples, nodeAddressTypes, clock } = services;
  /** Returns the metrics of running pods whose kubelets answer. */
  async function measure(pods: readonly Immutable<Pod>[]): Promise<readonly PodMetrics[]> {
    const running = pods.filter(({ status }) => status.phase === 'Running');
    const names = new Set(running.flatMap(({ spec }) => spec.nodeName ?? []));
    const targets: NodeTarget[] = [];
    for (const name of names) {
      const node = await find<Immutable<Node>>('', 'nodes', '', name);
      if (node !== undefined) targets.push(targetOf(node, nodeAddressTypes));
    }
    const usages = await nodeSamples?.read(targets);
    const created = formatTime(clock.now());
    return running.flatMap(({ metadata: { namespace = '', name, labels }, spec }) => {
      const containers = usages?.get(spec.nodeName ?? '')?.pod(podKey(namespace, name));
      if (containers === undefined) return [];
      const object = {
        apiVersion: 'metrics.k8s.io/v1beta1',
        kind: 'PodMetrics',
        metadata: {
          name,
          namespace,
          creationTimestamp: created,
          ...(labels !== undefined && { labels }),
        },
        ...measuredAt(earliest(containers.values())),
        containers: Array.from(containers, ([container, usage]) => ({
          name: container,
          usage: resourcesOf(usage),
        })),
      };
      return [decodeObject<PodMetrics>(MESSAGE, object).object];
    });
  }

  return {
    get: async ({ namespace }, name) => {
      const pod = await find<Immutable<Pod>>('', 'pods', namespace, name);
      if (pod === undefined) throw apierrors.notFound(PODS, name);
      const [metrics] = await measure([pod]);
      if (metrics === undefined) throw apierrors.notFound(podMetrics, `${namespace}/${name}`);
      return new FreshObject(metrics);
    },
    list: async ({ namespace }, { selection }) => {
      const pods = await findAll<Immutable<Pod>>('', 'pods', namespace);
      const selected = pods
        .filter((pod) => selection.matches({ object: () => pod }, metadataFields))
        .toSorted(byNamespaceAndName);
      const items = (await measure(selected)).map((object) => new FreshObject(object));
      return { items, resourceVersion: NO_VERSION };
    },
  };
}

/** Returns the usage that was measured first. There is at least one. */
function earliest(usages: Iterable<Usage>): Usage {
  return [...usages].reduce((first, usage) => (usage.time < first.time ? usage : first));
}

function byNamespaceAndName(
  { metadata: a }: Immutable<Pod>,
  { metadata: b }: Immutable<Pod>,
): number {
  const [inA, inB] = [a.namespace ?? '', b.namespace ?? ''];
  if (inA !== inB) return inA < inB ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

const table: TableConvertor<Immutable<PodMetrics>> = {
  columns: METRICS_COLUMNS,
  cells: (metrics) => [
    metrics.metadata.name,
    total(metrics, 'cpu'),
    total(metrics, 'memory'),
    metrics.window,
  ],
};

function total({ containers }: Immutable<PodMetrics>, resource: string): string {
  const amounts = containers.flatMap(({ usage }): Quantity[] => {
    const text = ownValue(usage, resource);
    return text === undefined ? [] : [parseQuantity(text)];
  });
  return amounts.length === 0 ? '' : amounts.reduce((sum, each) => sum.add(each)).toString();
}

export const podMetricsKind: KindDefinition<ResourceMetricsServices> = {
  types: [podMetrics],
  build: (services) => [
    { type: podMetrics, table, rest: podMetricsRest(services), visibility: visibility(services) },
  ],
};
