// The table of services.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatLabels } from '#machinery/selectors/labels.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column, joined } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Service = Immutable<core.Service>;

export const serviceTable: TableConvertor<Service> = {
  columns: [
    NAME,
    column('Type', 'The type of the service.'),
    column('Cluster-IP', 'Address within the cluster.'),
    column('External-IP', 'Addresses or names outside of the cluster.'),
    column('Port(s)', 'Ports, node ports and protocols.'),
    AGE,
    column('Selector', 'Labels of the selected pods.', { wide: true }),
  ],
  cells: (service, now) => [
    service.metadata.name,
    service.spec.type ?? '',
    service.spec.clusterIPs?.[0] ?? (service.spec.clusterIP || '<none>'),
    externalAddress(service),
    joined(
      (service.spec.ports ?? []).map(
        (port) =>
          `${port.port}${(port.nodePort ?? 0) > 0 ? `:${port.nodePort}` : ''}/${port.protocol}`,
      ),
    ),
    since(service.metadata.creationTimestamp, now),
    formatLabels(service.spec.selector),
  ],
};

function externalAddress(service: Service): string {
  const { spec, status } = service;
  const external = spec.externalIPs ?? [];
  switch (spec.type) {
    case 'ClusterIP':
    case 'NodePort':
      return joined(external);
    case 'ExternalName':
      return spec.externalName ?? '';
    case 'LoadBalancer': {
      const points = (status.loadBalancer?.ingress ?? []).map(
        (point) => point.ip || point.hostname || '',
      );
      const ingress = [...new Set(points.filter((point) => point !== ''))].sort();
      return joined([...ingress, ...external], '<pending>');
    }
    default:
      return '<unknown>';
  }
}
