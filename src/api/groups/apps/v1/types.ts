// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** Keeps pods running, each with a stable name and its own storage. */
export interface StatefulSet extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: StatefulSetSpec;
  /** The observed state. */
  status: StatefulSetStatus;
}

export type PodManagementPolicyType = 'OrderedReady' | 'Parallel';

/** How pods are replaced when the template changes. */
export interface StatefulSetUpdateStrategy {
  /** RollingUpdate or OnDelete. Default: RollingUpdate. */
  type?: StatefulSetUpdateStrategyType;
  /** Settings of RollingUpdate. */
  rollingUpdate?: RollingUpdateStatefulSetStrategy;
}

export type StatefulSetUpdateStrategyType = 'RollingUpdate' | 'OnDelete';

/** Settings of a rolling update. */
export interface RollingUpdateStatefulSetStrategy {
  /** Only pods with this ordinal or a higher one are updated. Default: 0. */
  partition?: number;
  /** How many pods may be unavailable: a number or a percentage, rounded up. Default: 1. */
  maxUnavailable?: number | string;
}

export type PersistentVolumeClaimRetentionPolicyType = 'Retain' | 'Delete' | (string & {});

/** Treatment of the claims of the volume claim templates. */
export interface StatefulSetPersistentVolumeClaimRetentionPolicy {
  /** When the StatefulSet is deleted: Retain or Delete. Default: Retain. */
  whenDeleted?: PersistentVolumeClaimRetentionPolicyType;
  /** When the StatefulSet is scaled down: Retain or Delete. Default: Retain. */
  whenScaled?: PersistentVolumeClaimRetentionPolicyType;
}

/** The numbering of the pods. */
export interface StatefulSetOrdinals {
  /** The number of the first pod. Default: 0. */
  start: number;
}

/** The desired state of a StatefulSet. */
export interface StatefulSetSpec {
  /** The number of pods. Default: 1. */
  replicas?: number;
  /** Selects the pods. It must match the labels of the template and cannot be changed. */
  selector: meta.LabelSelector;
  /** The pods that are created. Their names are that of the StatefulSet with a number. */
  template: core.PodTemplateSpec;
  /** Claims that each pod gets. They outlive the pod. */
  volumeClaimTemplates?: core.PersistentVolumeClaim[];
  /** The headless service that gives the pods DNS names. */
  serviceName: string;
  /** OrderedReady to start pods one after the other, Parallel to start them at once. Default: OrderedReady. */
  podManagementPolicy?: PodManagementPolicyType;
  /** How pods are replaced when the template changes. */
  updateStrategy: StatefulSetUpdateStrategy;
  /** The number of old revisions that are kept. Default: 10. */
  revisionHistoryLimit?: number;
  /** How many seconds a new pod must be ready to count as available. Default: 0. */
  minReadySeconds?: number;
  /** Treatment of claims when the StatefulSet is deleted or scaled down. */
  persistentVolumeClaimRetentionPolicy?: StatefulSetPersistentVolumeClaimRetentionPolicy;
  /** The numbering of the pods. */
  ordinals?: StatefulSetOrdinals;
}

/** The observed state of a StatefulSet. */
export interface StatefulSetStatus {
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** The number of pods. */
  replicas: number;
  /** The number of ready pods. */
  readyReplicas?: number;
  /** The number of pods of the current revision. */
  currentReplicas?: number;
  /** The number of pods of the update revision. */
  updatedReplicas?: number;
  /** The revision of the pods that are not updated yet. */
  currentRevision?: string;
  /** The revision that pods are updated to. */
  updateRevision?: string;
  /** The number of name collisions. It is part of the hash in the names of dependents. */
  collisionCount?: number;
  /** Conditions of the StatefulSet. */
  conditions?: StatefulSetCondition[];
  /** The number of pods that have been ready for minReadySeconds. */
  availableReplicas: number;
}

/** A condition of a StatefulSet. */
export interface StatefulSetCondition {
  /** The type of the condition. */
  type: string;
  /** True, False or Unknown. */
  status: core.ConditionStatus;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** A list of StatefulSet objects. */
export interface StatefulSetList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: StatefulSet[];
}

/** Keeps identical pods running, and replaces them step by step when the template changes. */
export interface Deployment extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: DeploymentSpec;
  /** The observed state. */
  status: DeploymentStatus;
}

/** The desired state of a Deployment. */
export interface DeploymentSpec {
  /** The number of pods. Default: 1. */
  replicas?: number;
  /** Selects the pods. It must match the labels of the template and cannot be changed. */
  selector: meta.LabelSelector;
  /** The pods that are created. */
  template: core.PodTemplateSpec;
  /** How old pods are replaced by new ones. */
  strategy: DeploymentStrategy;
  /** How many seconds a new pod must be ready to count as available. Default: 0. */
  minReadySeconds?: number;
  /** The number of old ReplicaSets that are kept for a rollback. Default: 10. */
  revisionHistoryLimit?: number;
  /** Whether changes of the template are not rolled out for now. */
  paused?: boolean;
  /** After this many seconds without progress, a rollout counts as failed. Default: 600. */
  progressDeadlineSeconds?: number;
}

/** How old pods are replaced by new ones. */
export interface DeploymentStrategy {
  /** RollingUpdate or Recreate. Default: RollingUpdate. */
  type?: DeploymentStrategyType;
  /** Settings of RollingUpdate. */
  rollingUpdate?: RollingUpdateDeployment;
}

export type DeploymentStrategyType = 'Recreate' | 'RollingUpdate';

/** The bounds of a rolling update. */
export interface RollingUpdateDeployment {
  /** How many pods may be unavailable: a number or a percentage, rounded down. Default: 25%. */
  maxUnavailable?: number | string;
  /** How many pods may exist beyond the desired number: a number or a percentage, rounded up. Default: 25%. */
  maxSurge?: number | string;
}

/** The observed state of a Deployment. */
export interface DeploymentStatus {
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** The number of pods. */
  replicas?: number;
  /** The number of pods of the current template. */
  updatedReplicas?: number;
  /** The number of ready pods. */
  readyReplicas?: number;
  /** The number of pods that have been ready for minReadySeconds. */
  availableReplicas?: number;
  /** The number of pods that are missing for full availability. */
  unavailableReplicas?: number;
  /** The number of pods that are being deleted. */
  terminatingReplicas?: number;
  /** Available, Progressing and ReplicaFailure. */
  conditions?: DeploymentCondition[];
  /** The number of name collisions. It is part of the hash in the names of dependents. */
  collisionCount?: number;
}

export type DeploymentConditionType = 'Available' | 'Progressing' | 'ReplicaFailure' | (string & {});

/** A condition of a Deployment. */
export interface DeploymentCondition {
  /** The type of the condition. */
  type: DeploymentConditionType;
  /** True, False or Unknown. */
  status: core.ConditionStatus;
  /** When the condition was last updated. */
  lastUpdateTime: string | null;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** A list of Deployment objects. */
export interface DeploymentList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Deployment[];
}

/** How pods are replaced when the template changes. */
export interface DaemonSetUpdateStrategy {
  /** RollingUpdate or OnDelete. Default: RollingUpdate. */
  type?: DaemonSetUpdateStrategyType;
  /** Settings of RollingUpdate. */
  rollingUpdate?: RollingUpdateDaemonSet;
}

export type DaemonSetUpdateStrategyType = 'RollingUpdate' | 'OnDelete';

/** The bounds of a rolling update. */
export interface RollingUpdateDaemonSet {
  /** On how many nodes the pod may be unavailable: a number or a percentage, rounded up. Default: 1. */
  maxUnavailable?: number | string;
  /** On how many nodes a new pod may start beside the old one. Default: 0. */
  maxSurge?: number | string;
}

/** The desired state of a DaemonSet. */
export interface DaemonSetSpec {
  /** Selects the pods. It must match the labels of the template and cannot be changed. */
  selector: meta.LabelSelector;
  /** The pod that runs on each node which its selector and affinity allow. */
  template: core.PodTemplateSpec;
  /** How pods are replaced when the template changes. */
  updateStrategy: DaemonSetUpdateStrategy;
  /** How many seconds a new pod must be ready to count as available. Default: 0. */
  minReadySeconds?: number;
  /** The number of old revisions that are kept. Default: 10. */
  revisionHistoryLimit?: number;
}

/** The observed state of a DaemonSet. */
export interface DaemonSetStatus {
  /** The number of nodes that run the pod and should. */
  currentNumberScheduled: number;
  /** The number of nodes that run the pod and should not. */
  numberMisscheduled: number;
  /** The number of nodes that should run the pod. */
  desiredNumberScheduled: number;
  /** The number of nodes with a ready pod. */
  numberReady: number;
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** The number of nodes with a pod of the current template. */
  updatedNumberScheduled?: number;
  /** The number of nodes with a pod that has been ready for minReadySeconds. */
  numberAvailable?: number;
  /** The number of nodes that should run the pod and have none available. */
  numberUnavailable?: number;
  /** The number of name collisions. It is part of the hash in the names of dependents. */
  collisionCount?: number;
  /** Conditions of the DaemonSet. */
  conditions?: DaemonSetCondition[];
}

/** A condition of a DaemonSet. */
export interface DaemonSetCondition {
  /** The type of the condition. */
  type: string;
  /** True, False or Unknown. */
  status: core.ConditionStatus;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** Keeps one pod running on every node, or on selected nodes. */
export interface DaemonSet extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: DaemonSetSpec;
  /** The observed state. */
  status: DaemonSetStatus;
}

/** A list of DaemonSet objects. */
export interface DaemonSetList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: DaemonSet[];
}

/** Keeps a number of identical pods running. */
export interface ReplicaSet extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ReplicaSetSpec;
  /** The observed state. */
  status: ReplicaSetStatus;
}

/** A list of ReplicaSet objects. */
export interface ReplicaSetList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ReplicaSet[];
}

/** The desired state of a ReplicaSet. */
export interface ReplicaSetSpec {
  /** The desired number of pods. Default: 1. */
  replicas?: number;
  /** How many seconds a new pod must be ready to count as available. Default: 0. */
  minReadySeconds?: number;
  /** Selects the pods. It must match the labels of the template and cannot be changed. */
  selector: meta.LabelSelector;
  /** The template of the pods. */
  template: core.PodTemplateSpec;
}

/** The observed state of a ReplicaSet. */
export interface ReplicaSetStatus {
  /** The number of pods. */
  replicas: number;
  /** The number of pods with all labels of the template. */
  fullyLabeledReplicas?: number;
  /** The number of ready pods. */
  readyReplicas?: number;
  /** The number of pods that have been ready for minReadySeconds. */
  availableReplicas?: number;
  /** The number of pods that are being deleted. */
  terminatingReplicas?: number;
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** Conditions that keep the replicas from being created. */
  conditions?: ReplicaSetCondition[];
}

export type ReplicaSetConditionType = 'ReplicaFailure' | (string & {});

/** A condition of a ReplicaSet. */
export interface ReplicaSetCondition {
  /** The type of the condition. */
  type: ReplicaSetConditionType;
  /** True, False or Unknown. */
  status: core.ConditionStatus;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** The reason, as one word for programs. */
  reason?: string;
  /** The reason, for people. */
  message?: string;
}

/** A past template of a StatefulSet or DaemonSet. */
export interface ControllerRevision extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The template, as a patch. */
  data: Record<string, unknown> | null;
  /** The number of the revision. */
  revision: number;
}

/** A list of ControllerRevision objects. */
export interface ControllerRevisionList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ControllerRevision[];
}
