// Defaults of apps/v1. See core/v1/defaults.ts for what a defaulter may do.

import { setPodTemplateDefaults } from '../../core/v1/defaults.ts';
import type { ReplicaSet } from './types.ts';

export function setReplicaSetDefaults(replicaSet: ReplicaSet): void {
  replicaSet.spec.replicas ??= 1;
  setPodTemplateDefaults(replicaSet.spec.template);
}
