// The replica manager's view of a ReplicaSet or ReplicationController. Only this file knows the
// differences between the two kinds.

import { type ReplicaSet, replicaSets, type ReplicaSetStatus } from '#api/groups/apps/v1/index.ts';
import {
  type PodTemplateSpec,
  type ReplicationController,
  replicationControllers,
} from '#api/groups/core/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as labels from '#machinery/selectors/labels.ts';
import type { PodOwner } from '../pod-control.ts';

/** An owner of replicas. `T`: the type of the object. */
export interface ReplicaOwner extends PodOwner {
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly selector: labels.Selector;
  readonly template: Immutable<PodTemplateSpec>;
  readonly status: Immutable<ReplicaSetStatus>;
}

/** A kind with a number of replicas. */
export interface ReplicaKind<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly apiVersion: string;
  /** The reporter of events. */
  readonly component: string;
  /** The name of the queue in metrics. */
  readonly queueName: string;
  /** Returns the view. Throws if the selector is invalid, which validation prevents. */
  view(object: Immutable<T>): ReplicaOwner;
  /**
   * Returns a copy with another status. Fields that the kind's status does not have are left out.
   */
  withStatus(object: Immutable<T>, status: Immutable<ReplicaSetStatus>): Immutable<T>;
}

const EMPTY_TEMPLATE = {
  metadata: {},
  spec: { containers: [] },
} as unknown as Immutable<PodTemplateSpec>;

export const replicaSetKind: ReplicaKind<ReplicaSet> = {
  type: replicaSets,
  apiVersion: 'apps/v1',
  component: 'replicaset-controller',
  queueName: 'replicaset',
  view: ({ metadata, spec, status }) => ({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata,
    replicas: spec.replicas ?? 1,
    minReadySeconds: spec.minReadySeconds ?? 0,
    selector: labels.labelSelectorAsSelector(spec.selector),
    template: spec.template ?? EMPTY_TEMPLATE,
    status,
  }),
  withStatus: (object, status) => ({ ...object, status }),
};

export const replicationControllerKind: ReplicaKind<ReplicationController> = {
  type: replicationControllers,
  apiVersion: 'v1',
  component: 'replication-controller',
  queueName: 'replicationmanager',
  view: ({ metadata, spec, status }) => ({
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata,
    replicas: spec.replicas ?? 1,
    minReadySeconds: spec.minReadySeconds ?? 0,
    selector:
      spec.selector === undefined ? labels.nothing() : labels.selectorFromSet(spec.selector),
    template: spec.template ?? EMPTY_TEMPLATE,
    status,
  }),
  withStatus: (object, { terminatingReplicas: _terminating, ...status }) => ({ ...object, status }),
};
