// The view of a ReplicaSet or a ReplicationController that the replica manager works with: what
// differs between the two kinds is here, and nowhere else.

import { replicaSets } from '#api/groups/apps/v1/index.ts';
import type { ReplicaSet, ReplicaSetStatus } from '#api/groups/apps/v1/index.ts';
import { replicationControllers } from '#api/groups/core/v1/index.ts';
import type { PodTemplateSpec, ReplicationController } from '#api/groups/core/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as labels from '#machinery/selectors/labels.ts';
import type { PodOwner } from '../pod-control.ts';

/** `T` is the object that is viewed. */
export interface ReplicaOwner extends PodOwner {
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly selector: labels.Selector;
  readonly template: Immutable<PodTemplateSpec>;
  readonly status: Immutable<ReplicaSetStatus>;
}

/** One of the kinds whose objects are kept at a number of replicas. */
export interface ReplicaKind<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly apiVersion: string;
  /** As events name the reporter. */
  readonly component: string;
  /** As metrics name its queue. */
  readonly queueName: string;
  /** Throws if the selector cannot be read; validation keeps such objects out. */
  view(object: Immutable<T>): ReplicaOwner;
  /** A copy with another status. What the kind's status does not have is left out. */
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
