// The tables of controllers that keep a number of pods.

import type * as apps from '../../api/apps/v1/index.ts';
import type * as core from '../../api/core/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';
import { formatLabels, formatLabelSelector } from '../../machinery/labels.ts';
import type { TableConvertor } from '../registry/table.ts';
import { since } from './age.ts';
import { AGE, column, joined, NAME } from './columns.ts';

const COLUMNS = [
  NAME,
  column('Desired', 'Pods that there should be.', { type: 'integer' }),
  column('Current', 'Pods that there are.', { type: 'integer' }),
  column('Ready', 'Pods that are ready.', { type: 'integer' }),
  AGE,
  column('Containers', 'Names of the containers of the template.', { wide: true }),
  column('Images', 'Images of the containers of the template.', { wide: true }),
  column('Selector', 'Labels of the pods that belong to it.', { wide: true }),
];

type Workload = Immutable<apps.ReplicaSet> | Immutable<core.ReplicationController>;

function cells(object: Workload, selector: string, now: number): unknown[] {
  const containers = object.spec.template?.spec.containers ?? [];
  return [
    object.metadata.name,
    object.spec.replicas ?? 0,
    object.status.replicas,
    object.status.readyReplicas ?? 0,
    since(object.metadata.creationTimestamp, now),
    joined(containers.map((container) => container.name)),
    joined(containers.map((container) => container.image ?? '')),
    selector,
  ];
}

export const replicaSetTable: TableConvertor<Immutable<apps.ReplicaSet>> = {
  columns: COLUMNS,
  cells: (replicaSet, now) => cells(replicaSet, formatLabelSelector(replicaSet.spec.selector), now),
};

export const replicationControllerTable: TableConvertor<Immutable<core.ReplicationController>> = {
  columns: COLUMNS,
  cells: (controller, now) => cells(controller, formatLabels(controller.spec.selector), now),
};
