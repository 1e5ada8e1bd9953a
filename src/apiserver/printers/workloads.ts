// The tables of the workloads that run for good, and of their revisions.

import type * as apps from '#api/groups/apps/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatLabels, formatLabelSelector, labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, CONTAINERS, containerCells, NAME, SELECTOR } from '../tables/columns.ts';

const COLUMNS = [
  NAME,
  column('Desired', 'Pods that there should be.', { type: 'integer' }),
  column('Current', 'Pods that there are.', { type: 'integer' }),
  column('Ready', 'Pods that are ready.', { type: 'integer' }),
  AGE,
  ...CONTAINERS,
  SELECTOR,
];

type Workload = Immutable<apps.ReplicaSet> | Immutable<core.ReplicationController>;

function cells(object: Workload, selector: string, now: number): unknown[] {
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

export const replicaSetTable: TableConvertor<Immutable<apps.ReplicaSet>> = {
  columns: COLUMNS,
  cells: (replicaSet, now) => cells(replicaSet, formatLabelSelector(replicaSet.spec.selector), now),
};

export const replicationControllerTable: TableConvertor<Immutable<core.ReplicationController>> = {
  columns: COLUMNS,
  cells: (controller, now) => cells(controller, formatLabels(controller.spec.selector), now),
};

export const deploymentTable: TableConvertor<Immutable<apps.Deployment>> = {
  columns: [
    NAME,
    column('Ready', 'Pods that are ready, of those that there should be.'),
    column('Up-to-date', 'Pods made from the template as it is now.'),
    column('Available', 'Pods that have been ready for long enough.'),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    status.updatedReplicas ?? 0,
    status.availableReplicas ?? 0,
    since(metadata.creationTimestamp, now),
    ...containerCells(spec.template.spec.containers),
    deploymentSelector(spec.selector),
  ],
};

function deploymentSelector(selector: Immutable<apps.DeploymentSpec>['selector']): string {
  try {
    return labelSelectorAsSelector(selector).toString();
  } catch {
    return '<invalid>';
  }
}

export const statefulSetTable: TableConvertor<Immutable<apps.StatefulSet>> = {
  columns: [NAME, column('Ready', 'Pods that are ready, of those that there should be.'), AGE, ...CONTAINERS],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    since(metadata.creationTimestamp, now),
    ...containerCells(spec.template.spec.containers),
  ],
};

export const daemonSetTable: TableConvertor<Immutable<apps.DaemonSet>> = {
  columns: [
    NAME,
    column('Desired', 'Nodes that should run its pod.', { type: 'integer' }),
    column('Current', 'Nodes that should, and do.', { type: 'integer' }),
    column('Ready', 'Nodes whose pod is ready.', { type: 'integer' }),
    column('Up-to-date', 'Nodes whose pod is made from the template as it is now.', { type: 'integer' }),
    column('Available', 'Nodes whose pod has been ready for long enough.', { type: 'integer' }),
    column('Node Selector', 'Labels of the nodes that should run its pod.'),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    status.desiredNumberScheduled,
    status.currentNumberScheduled,
    status.numberReady,
    status.updatedNumberScheduled ?? 0,
    status.numberAvailable ?? 0,
    formatLabels(spec.template.spec.nodeSelector),
    since(metadata.creationTimestamp, now),
    ...containerCells(spec.template.spec.containers),
    formatLabelSelector(spec.selector),
  ],
};

export const controllerRevisionTable: TableConvertor<Immutable<apps.ControllerRevision>> = {
  columns: [NAME, column('Controller', 'The object whose state it is.'), column('Revision', 'Which of its states.'), AGE],
  cells: ({ metadata, revision }, now) => [
    metadata.name,
    controllerOf(metadata.ownerReferences),
    revision,
    since(metadata.creationTimestamp, now),
  ],
};

function controllerOf(references: Immutable<apps.ControllerRevision>['metadata']['ownerReferences']): string {
  const controller = references?.find((reference) => reference.controller === true);
  if (controller === undefined) return '<none>';
  const { apiVersion, kind, name } = controller;
  const group = apiVersion.includes('/') ? `.${apiVersion.slice(0, apiVersion.indexOf('/'))}` : '';
  return `${kind}${group}`.toLowerCase() + `/${name}`;
}
