// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface StatefulSet extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: StatefulSetSpec;
  status: StatefulSetStatus;
}

export type PodManagementPolicyType = 'OrderedReady' | 'Parallel';

export interface StatefulSetUpdateStrategy {
  type?: StatefulSetUpdateStrategyType;
  rollingUpdate?: RollingUpdateStatefulSetStrategy;
}

export type StatefulSetUpdateStrategyType = 'RollingUpdate' | 'OnDelete';

export interface RollingUpdateStatefulSetStrategy {
  partition?: number;
  maxUnavailable?: number | string;
}

export type PersistentVolumeClaimRetentionPolicyType = 'Retain' | 'Delete' | (string & {});

export interface StatefulSetPersistentVolumeClaimRetentionPolicy {
  whenDeleted?: PersistentVolumeClaimRetentionPolicyType;
  whenScaled?: PersistentVolumeClaimRetentionPolicyType;
}

export interface StatefulSetOrdinals {
  start: number;
}

export interface StatefulSetSpec {
  replicas?: number;
  selector: meta.LabelSelector;
  template: core.PodTemplateSpec;
  volumeClaimTemplates?: core.PersistentVolumeClaim[];
  serviceName: string;
  podManagementPolicy?: PodManagementPolicyType;
  updateStrategy: StatefulSetUpdateStrategy;
  revisionHistoryLimit?: number;
  minReadySeconds?: number;
  persistentVolumeClaimRetentionPolicy?: StatefulSetPersistentVolumeClaimRetentionPolicy;
  ordinals?: StatefulSetOrdinals;
}

export interface StatefulSetStatus {
  observedGeneration?: number;
  replicas: number;
  readyReplicas?: number;
  currentReplicas?: number;
  updatedReplicas?: number;
  currentRevision?: string;
  updateRevision?: string;
  collisionCount?: number;
  conditions?: StatefulSetCondition[];
  availableReplicas: number;
}

export interface StatefulSetCondition {
  type: string;
  status: core.ConditionStatus;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

export interface StatefulSetList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: StatefulSet[];
}

export interface Deployment extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: DeploymentSpec;
  status: DeploymentStatus;
}

export interface DeploymentSpec {
  replicas?: number;
  selector: meta.LabelSelector;
  template: core.PodTemplateSpec;
  strategy: DeploymentStrategy;
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
  paused?: boolean;
  progressDeadlineSeconds?: number;
}

export interface DeploymentStrategy {
  type?: DeploymentStrategyType;
  rollingUpdate?: RollingUpdateDeployment;
}

export type DeploymentStrategyType = 'Recreate' | 'RollingUpdate';

export interface RollingUpdateDeployment {
  maxUnavailable?: number | string;
  maxSurge?: number | string;
}

export interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  terminatingReplicas?: number;
  conditions?: DeploymentCondition[];
  collisionCount?: number;
}

export type DeploymentConditionType = 'Available' | 'Progressing' | 'ReplicaFailure' | (string & {});

export interface DeploymentCondition {
  type: DeploymentConditionType;
  status: core.ConditionStatus;
  lastUpdateTime: string | null;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

export interface DeploymentList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: Deployment[];
}

export interface DaemonSetUpdateStrategy {
  type?: DaemonSetUpdateStrategyType;
  rollingUpdate?: RollingUpdateDaemonSet;
}

export type DaemonSetUpdateStrategyType = 'RollingUpdate' | 'OnDelete';

export interface RollingUpdateDaemonSet {
  maxUnavailable?: number | string;
  maxSurge?: number | string;
}

export interface DaemonSetSpec {
  selector: meta.LabelSelector;
  template: core.PodTemplateSpec;
  updateStrategy: DaemonSetUpdateStrategy;
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
}

export interface DaemonSetStatus {
  currentNumberScheduled: number;
  numberMisscheduled: number;
  desiredNumberScheduled: number;
  numberReady: number;
  observedGeneration?: number;
  updatedNumberScheduled?: number;
  numberAvailable?: number;
  numberUnavailable?: number;
  collisionCount?: number;
  conditions?: DaemonSetCondition[];
}

export interface DaemonSetCondition {
  type: string;
  status: core.ConditionStatus;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

export interface DaemonSet extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: DaemonSetSpec;
  status: DaemonSetStatus;
}

export interface DaemonSetList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: DaemonSet[];
}

export interface ReplicaSet extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: ReplicaSetSpec;
  status: ReplicaSetStatus;
}

export interface ReplicaSetList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ReplicaSet[];
}

export interface ReplicaSetSpec {
  replicas?: number;
  minReadySeconds?: number;
  selector: meta.LabelSelector;
  template: core.PodTemplateSpec;
}

export interface ReplicaSetStatus {
  replicas: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  terminatingReplicas?: number;
  observedGeneration?: number;
  conditions?: ReplicaSetCondition[];
}

export type ReplicaSetConditionType = 'ReplicaFailure' | (string & {});

export interface ReplicaSetCondition {
  type: ReplicaSetConditionType;
  status: core.ConditionStatus;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

export interface ControllerRevision extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  data: Record<string, unknown> | null;
  revision: number;
}

export interface ControllerRevisionList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ControllerRevision[];
}
