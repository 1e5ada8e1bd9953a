// Defaults of apps/v1. See core/v1/defaults.ts for the rules of defaulters.

import type { Defaulters } from '#api/machinery/scheme.ts';
import {
  setPersistentVolumeClaimDefaults,
  setPodTemplateDefaults,
} from '#api/groups/core/v1/defaults.ts';
import { mergedMap } from '#machinery/collections/string-map.ts';
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from './types.ts';

const REVISION_HISTORY_LIMIT = 10;
const PROGRESS_DEADLINE_SECONDS = 600;

function setDeploymentDefaults({ spec }: Deployment): void {
  setPodTemplateDefaults(spec.template);
  spec.replicas ??= 1;
  const { strategy } = spec;
  strategy.type ??= 'RollingUpdate';
  if (strategy.type === 'RollingUpdate') {
    strategy.rollingUpdate ??= {};
    strategy.rollingUpdate.maxUnavailable ??= '25%';
    strategy.rollingUpdate.maxSurge ??= '25%';
  }
  spec.revisionHistoryLimit ??= REVISION_HISTORY_LIMIT;
  spec.progressDeadlineSeconds ??= PROGRESS_DEADLINE_SECONDS;
}

function setReplicaSetDefaults(replicaSet: ReplicaSet): void {
  replicaSet.spec.replicas ??= 1;
  setPodTemplateDefaults(replicaSet.spec.template);
}

function setStatefulSetDefaults({ spec }: StatefulSet): void {
  setPodTemplateDefaults(spec.template);
  for (const claim of spec.volumeClaimTemplates ?? []) {
    // A claim template has the type of the object that is created from it.
    claim.apiVersion = 'v1';
    claim.kind = 'PersistentVolumeClaim';
    setPersistentVolumeClaimDefaults(claim);
  }
  spec.podManagementPolicy ??= 'OrderedReady';
  const { updateStrategy } = spec;
  if (updateStrategy.type === undefined) {
    updateStrategy.type = 'RollingUpdate';
    updateStrategy.rollingUpdate ??= {};
  }
  if (updateStrategy.type === 'RollingUpdate' && updateStrategy.rollingUpdate !== undefined) {
    // maxUnavailable has no default: the feature is off.
    updateStrategy.rollingUpdate.partition ??= 0;
  }
  const retention = (spec.persistentVolumeClaimRetentionPolicy ??= {});
  retention.whenDeleted ??= 'Retain';
  retention.whenScaled ??= 'Retain';
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= REVISION_HISTORY_LIMIT;
}

/** The annotation in which the server counts changes of the template. */
export const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

function setDaemonSetDefaults({ metadata, spec }: DaemonSet): void {
  // Replaces a former field, whose zero value clients of that field expect as '0'. The annotation
  // belongs to the writer's fields, too.
  if (metadata.annotations?.[TEMPLATE_GENERATION] === undefined) {
    metadata.annotations = mergedMap(metadata.annotations, { [TEMPLATE_GENERATION]: '0' });
  }
  setPodTemplateDefaults(spec.template);
  const { updateStrategy } = spec;
  updateStrategy.type ??= 'RollingUpdate';
  if (updateStrategy.type === 'RollingUpdate') {
    updateStrategy.rollingUpdate ??= {};
    updateStrategy.rollingUpdate.maxUnavailable ??= 1;
    updateStrategy.rollingUpdate.maxSurge ??= 0;
  }
  spec.revisionHistoryLimit ??= REVISION_HISTORY_LIMIT;
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  DaemonSet: setDaemonSetDefaults,
  Deployment: setDeploymentDefaults,
  ReplicaSet: setReplicaSetDefaults,
  StatefulSet: setStatefulSetDefaults,
};
