// The resource apiservices: the registered groups and versions, and the service of each.

import { apiServices } from '#api/groups/apiregistration/v1/index.ts';
import type * as apiregistration from '#api/groups/apiregistration/v1/index.ts';
import {
  validateAPIService,
  validateAPIServiceStatus,
} from '#api/groups/apiregistration/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { formatTime } from '#machinery/text/time.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

const apiServiceStrategy: ResourceStrategy<APIService> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  allowUnconditionalUpdate: false,
  validateName: pathSegmentName,
  // A group version that this server serves is available at once.
  prepareForCreate: (service, { now }) => ({
    ...service,
    status: service.spec.service === undefined ? local(now) : {},
  }),
  validate: (service) => validateAPIService(service),
  prepareForUpdate: (service, old) => ({ ...service, status: old.status }),
  validateUpdate: (service) => validateAPIService(service),
};

type Metadata = APIService['metadata'];

const apiServiceStatusStrategy: SubresourceStrategy<APIService> = {
  resetFields: [['metadata'], ['spec']],
  allowUnconditionalUpdate: false,
  prepareForUpdate: (service, old) => ({
    ...service,
    metadata: withMetadataOf(old, service.metadata),
    spec: old.spec,
  }),
  validateUpdate: (service) => validateAPIServiceStatus(service),
};

/** Returns the metadata with the old labels and references: a status does not change them. */
function withMetadataOf(
  { metadata: old }: APIService,
  { labels: _l, annotations: _a, finalizers: _f, ownerReferences: _o, ...rest }: Metadata,
): Metadata {
  const { labels, annotations, finalizers, ownerReferences } = old;
  return {
    ...rest,
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
    ...(finalizers !== undefined && { finalizers }),
    ...(ownerReferences !== undefined && { ownerReferences }),
  };
}

function local(now: number): APIService['status'] {
  const condition = {
    type: 'Available',
    status: 'True',
    lastTransitionTime: formatTime(now),
    reason: 'Local',
    message: 'Local APIServices are always available',
  } as const;
  return { conditions: [condition] };
}

type APIService = Immutable<apiregistration.APIService>;

const apiServiceTable: TableConvertor<APIService> = {
  columns: [
    NAME,
    column('Service', 'The service that serves the group version, or Local.'),
    column('Available', 'Whether the service is available.'),
    AGE,
  ],
  cells: ({ metadata, spec: { service }, status }, now) => [
    metadata.name,
    service === undefined ? 'Local' : `${service.namespace ?? ''}/${service.name ?? ''}`,
    available(status),
    since(metadata.creationTimestamp, now),
  ],
};

function available({ conditions = [] }: APIService['status']): string {
  const condition = conditions.find(({ type }) => type === 'Available');
  if (condition === undefined) return 'Unknown';
  return condition.status === 'True' ? 'True' : `${condition.status} (${condition.reason ?? ''})`;
}

export const apiServiceKind = defineKind<APIService>({
  type: apiServices,
  strategy: apiServiceStrategy,
  table: apiServiceTable,
  subresources: { status: { strategy: apiServiceStatusStrategy } },
});
