// The resource ingresses.

import { ingresses } from '#api/groups/networking/v1/index.ts';
import type * as networking from '#api/groups/networking/v1/index.ts';
import {
  INGRESS_CLASS_ANNOTATION,
  validateIngressStatus,
  validateIngressUpdate,
  validateNewIngress,
} from '#api/groups/networking/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column, joined } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Ingress = Immutable<networking.Ingress>;

const ingressStrategy: ResourceStrategy<Ingress> = {
  checksNameOnUpdate: true,
  generation: true,
  prepareForCreate: (ingress) => ({ ...ingress, status: { loadBalancer: {} } }),
  validate: (ingress) => validateNewIngress(ingress),
  warningsOnCreate: ({ metadata }) =>
    metadata.annotations?.[INGRESS_CLASS_ANNOTATION] === undefined
      ? []
      : [
          `annotation "${INGRESS_CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`,
        ],
  prepareForUpdate: (ingress, old) => ({ ...ingress, status: old.status }),
  validateUpdate: (ingress, old) => validateIngressUpdate(ingress, old),
};

const ingressStatusStrategy: SubresourceStrategy<Ingress> = {
  prepareForUpdate: (ingress, old) => ({ ...ingress, spec: old.spec }),
  validateUpdate: (ingress, old) => validateIngressStatus(ingress, old),
};

const MAX_HOSTS = 3;

const ingressTable: TableConvertor<Ingress> = {
  columns: [
    NAME,
    column('Class', 'The class of controllers that implements it.'),
    column('Hosts', 'The host names of the rules.'),
    column('Address', 'The addresses that controllers have assigned.'),
    column('Ports', 'The ports of the ingress.'),
    AGE,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.ingressClassName ?? metadata.annotations?.['kubernetes.io/ingress.class'] ?? '<none>',
    hostsOf(spec.rules ?? []),
    joined(
      (status.loadBalancer.ingress ?? []).flatMap(({ ip, hostname }) => ip || hostname || []),
      '',
    ),
    (spec.tls ?? []).length > 0 ? '80, 443' : '80',
    since(metadata.creationTimestamp, now),
  ],
};

function hostsOf(rules: readonly Immutable<networking.IngressRule>[]): string {
  const hosts = rules.flatMap(({ host }) => host || []);
  if (hosts.length === 0) return '*';
  const shown = hosts.slice(0, MAX_HOSTS).join(',');
  return hosts.length > MAX_HOSTS ? `${shown} + ${hosts.length - MAX_HOSTS} more...` : shown;
}

export const ingressKind = defineKind<Ingress>({
  type: ingresses,
  strategy: ingressStrategy,
  table: ingressTable,
  subresources: { status: { strategy: ingressStatusStrategy } },
});
