// The resource nodes of metrics.k8s.io, which is not stored: each request measures.

import { allSchemas } from '#api/all-schemas.ts';
import type { Node } from '#api/groups/core/v1/index.ts';
import { type NodeMetrics, nodeMetrics } from '#api/groups/metrics/v1beta1/index.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { KindDefinition } from '#apiserver/catalog/define-kind.ts';
import { targetOf } from '#apiserver/node-proxy/pod-target.ts';
import { FreshObject } from '#apiserver/registry/encoded-object.ts';
import type { Rest } from '#apiserver/registry/rest.ts';
import { metadataFields } from '#apiserver/registry/selectable-fields.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import {
  measuredAt,
  METRICS_COLUMNS,
  NO_VERSION,
  resourcesOf,
  type ResourceMetricsServices,
  visibility,
} from './usage-fields.ts';

const MESSAGE = allSchemas.message('metrics/v1beta1.NodeMetrics');

function nodeMetricsRest(services: ResourceMetricsServices): Rest {
  const { find, findAll, nodeSamples, nodeAddressTypes, clock } = services;
  /** Returns the metrics of the nodes whose kubelets answer, by name. */
  async function measure(nodes: readonly Immutable<Node>[]): Promise<readonly NodeMetrics[]> {
    const usages = await nodeSamples?.read(nodes.map((node) => targetOf(node, nodeAddressTypes)));
    const created = formatTime(clock.now());
    return nodes.flatMap(({ metadata: { name, labels } }) => {
      const usage = usages?.get(name)?.node;
      if (usage === undefined) return [];
      const object = {
        apiVersion: 'metrics.k8s.io/v1beta1',
        kind: 'NodeMetrics',
        metadata: { name, creationTimestamp: created, ...(labels !== undefined && { labels }) },
        ...measuredAt(usage),
        usage: resourcesOf(usage),
      };
      return [decodeObject<NodeMetrics>(MESSAGE, object).object];
    });
  }

  return {
    get: async (_context, name) => {
      const node = await find<Immutable<Node>>('', 'nodes', '', name);
      if (node === undefined) throw apierrors.notFound({ group: '', resource: 'nodes' }, name);
      const [metrics] = await measure([node]);
      if (metrics === undefined) throw apierrors.notFound(nodeMetrics, name);
      return new FreshObject(metrics);
    },
    list: async (_context, { selection }) => {
      const nodes = await findAll<Immutable<Node>>('', 'nodes', '');
      const selected = nodes
        .filter((node) => selection.matches({ object: () => node }, metadataFields))
        .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
      const items = (await measure(selected)).map((object) => new FreshObject(object));
      return { items, resourceVersion: NO_VERSION };
    },
  };
}

const table: TableConvertor<Immutable<NodeMetrics>> = {
  columns: METRICS_COLUMNS,
  cells: ({ metadata, usage, window }) => [
    metadata.name,
    usage['cpu'] ?? '',
    usage['memory'] ?? '',
    window,
  ],
};

export const nodeMetricsKind: KindDefinition<ResourceMetricsServices> = {
  types: [nodeMetrics],
  build: (services) => [
    {
      type: nodeMetrics,
      table,
      rest: nodeMetricsRest(services),
      visibility: visibility(services),
    },
  ],
};
