// The table of kinds that maintain a number of equal pods: replica sets and replication
// controllers.

import type * as apps from '#api/groups/apps/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import type { TableColumn } from '#apiserver/tables/table.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { since } from '../tables/age.ts';
import { AGE, CONTAINERS, NAME, SELECTOR, column, containerCells } from '../tables/columns.ts';

/** The columns for the cells of `replicasCells`. */
export const REPLICAS_COLUMNS: readonly TableColumn[] = [
  NAME,
  column('Desired', 'Desired number of pods.', { type: 'integer' }),
  column('Current', 'Number of existing pods.', { type: 'integer' }),
  column('Ready', 'Number of ready pods.', { type: 'integer' }),
  AGE,
  ...CONTAINERS,
  SELECTOR,
];

type Workload = Immutable<apps.ReplicaSet> | Immutable<core.ReplicationController>;

/** Returns the cells. `selector`: the selector of its pods, as text. */
export function replicasCells(object: Workload, selector: string, now: number): unknown[] {
  return [
    object.metadata.name,
    object.spec.replicas ?? 0,
    object.status.replicas,
    object.status.readyReplicas ?? 0,
    since(object.metadata.creationTimestamp, now),
    ...containerCells(object.spec.template?.spec.containers),
    selector,
  ];
}
