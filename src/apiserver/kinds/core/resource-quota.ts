// The resource resourcequotas.

import { resourceQuotas } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import {
  validateResourceQuota,
  validateResourceQuotaStatus,
  validateResourceQuotaUpdate,
} from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type ResourceQuota = Immutable<core.ResourceQuota>;

const resourceQuotaStrategy: ResourceStrategy<ResourceQuota> = {
  returnDeletedObject: true,
  prepareForCreate: (quota) => ({ ...quota, status: {} }),
  validate: (quota) => validateResourceQuota(quota),
  prepareForUpdate: (quota, old) => ({ ...quota, status: old.status }),
  validateUpdate: (quota, old) => validateResourceQuotaUpdate(quota, old),
};

const resourceQuotaStatusStrategy: SubresourceStrategy<ResourceQuota> = {
  prepareForUpdate: (quota, old) => ({ ...quota, spec: old.spec }),
  validateUpdate: (quota) => validateResourceQuotaStatus(quota),
};

const resourceQuotaTable: TableConvertor<ResourceQuota> = {
  columns: [
    NAME,
    column(
      'Request',
      'Of what there is and of what is requested: how much is used, and how much may be.',
    ),
    column('Limit', 'For each limit, the used and the maximum amount.'),
    AGE,
  ],
  cells: ({ metadata, status }, now) => {
    const used = status.used ?? {};
    const entries = Object.entries(status.hard ?? {})
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, hard]) => ({
        name,
        text: `${name}: ${Object.hasOwn(used, name) ? used[name] : '0'}/${hard}`,
      }));
    const cell = (limits: boolean): string =>
      entries
        .filter(({ name }) => name.startsWith('limits.') === limits)
        .map(({ text }) => text)
        .join(', ');
    return [metadata.name, cell(false), cell(true), since(metadata.creationTimestamp, now)];
  },
};

export const resourceQuotaKind = defineKind<ResourceQuota>({
  type: resourceQuotas,
  strategy: resourceQuotaStrategy,
  table: resourceQuotaTable,
  subresources: { status: { strategy: resourceQuotaStatusStrategy } },
});
