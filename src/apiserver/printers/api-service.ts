// The table of API services.

import type * as apiregistration from '#api/groups/apiregistration/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, NAME } from '../tables/columns.ts';

type APIService = Immutable<apiregistration.APIService>;

export const apiServiceTable: TableConvertor<APIService> = {
  columns: [
    NAME,
    column('Service', 'The service that answers for it, or Local.'),
    column('Available', 'Whether it answers.'),
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
