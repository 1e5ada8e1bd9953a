// The resource servicecidrs.

import { serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import type * as networking from '#api/groups/networking/v1/index.ts';
import {
  validateServiceCIDR,
  validateServiceCIDRUpdate,
} from '#api/groups/networking/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column, joined } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type ServiceCIDR = Immutable<networking.ServiceCIDR>;

const serviceCidrStrategy: ResourceStrategy<ServiceCIDR> = {
  prepareForCreate: (range) => ({ ...range, status: {} }),
  prepareForUpdate: (range, old) => ({ ...range, status: old.status }),
  validate: (range) => validateServiceCIDR(range),
  validateUpdate: (range, old) => validateServiceCIDRUpdate(range, old),
};

const serviceCidrStatusStrategy: SubresourceStrategy<ServiceCIDR> = {
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (range, old) => ({ ...withMetadataForStatus(range, old), spec: old.spec }),
  validateUpdate: () => [],
};

const serviceCidrTable: TableConvertor<ServiceCIDR> = {
  columns: [NAME, column('CIDRs', 'The ranges that cluster IPs come from.'), AGE],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    joined(spec.cidrs, ''),
    since(metadata.creationTimestamp, now),
  ],
};

export const serviceCidrKind = defineKind<ServiceCIDR>({
  type: serviceCIDRs,
  strategy: serviceCidrStrategy,
  table: serviceCidrTable,
  subresources: { status: { strategy: serviceCidrStatusStrategy } },
});
