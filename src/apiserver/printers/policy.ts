// The table of pod disruption budgets.

import type * as policy from '#api/groups/policy/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, NAME } from '../tables/columns.ts';

export const podDisruptionBudgetTable: TableConvertor<Immutable<policy.PodDisruptionBudget>> = {
  columns: [
    NAME,
    column('Min Available', 'How many pods have to be available.'),
    column('Max Unavailable', 'How many pods may be unavailable.'),
    column('Allowed Disruptions', 'How many pods may be evicted now.', { type: 'integer' }),
    AGE,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    String(spec.minAvailable ?? 'N/A'),
    String(spec.maxUnavailable ?? 'N/A'),
    status.disruptionsAllowed,
    since(metadata.creationTimestamp, now),
  ],
};
