// The resource networkpolicies.

import { warningsForCIDR } from '#api/groups/core/v1/ip-warnings.ts';
import { networkPolicies } from '#api/groups/networking/v1/index.ts';
import type * as networking from '#api/groups/networking/v1/index.ts';
import { validateNetworkPolicy } from '#api/groups/networking/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { deepEqual } from '#machinery/deep.ts';
import { formatLabelSelector } from '#machinery/selectors/labels.ts';
import type { FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type NetworkPolicy = Immutable<networking.NetworkPolicy>;

function warnings({ spec }: NetworkPolicy): string[] {
  const at = field.path('spec');
  const ofPeers = (
    peers: readonly Immutable<networking.NetworkPolicyPeer>[],
    place: FieldPath,
  ): string[] =>
    peers.flatMap(({ ipBlock }, index) => {
      if (ipBlock === undefined) return [];
      const block = place.index(index).child('ipBlock');
      const except = (ipBlock.except ?? []).flatMap((cidr, i) =>
        warningsForCIDR(block.child('except').index(i), cidr),
      );
      return [...warningsForCIDR(block.child('cidr'), ipBlock.cidr), ...except];
    });
  return [
    ...(spec.ingress ?? []).flatMap(({ from = [] }, index) =>
      ofPeers(from, at.child('ingress').index(index).child('from')),
    ),
    ...(spec.egress ?? []).flatMap(({ to = [] }, index) =>
      ofPeers(to, at.child('egress').index(index).child('to')),
    ),
  ];
}

const networkPolicyStrategy: ResourceStrategy<NetworkPolicy> = {
  // An explicit empty list counts as a change, as upstream.
  generation: (policy, old) => !deepEqual(policy.spec, old.spec),
  validate: (policy) => validateNetworkPolicy(policy),
  validateUpdate: (policy, old) => validateNetworkPolicy(policy, old),
  warningsOnCreate: (policy) => warnings(policy),
  warningsOnUpdate: (policy) => warnings(policy),
};

const networkPolicyTable: TableConvertor<NetworkPolicy> = {
  columns: [NAME, column('Pod-Selector', 'The labels of the selected pods.'), AGE],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    formatLabelSelector(spec.podSelector),
    since(metadata.creationTimestamp, now),
  ],
};

export const networkPolicyKind = defineKind<NetworkPolicy>({
  type: networkPolicies,
  strategy: networkPolicyStrategy,
  table: networkPolicyTable,
});
