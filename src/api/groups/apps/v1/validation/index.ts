// Validation of apps/v1: one function per kind and operation. Messages, paths and error types in
// this folder are those of Kubernetes (pkg/apis/apps/validation), its inconsistencies included.
// Metadata is validated elsewhere, with the same rules for all kinds.

export {
  validateControllerRevision,
  validateControllerRevisionUpdate,
} from './controller-revision.ts';
export {
  validateDaemonSet,
  validateDaemonSetStatusUpdate,
  validateDaemonSetUpdate,
} from './daemon-set.ts';
export {
  validateDeployment,
  validateDeploymentStatusUpdate,
  validateDeploymentUpdate,
} from './deployment.ts';
export { validateReplicaSet, validateReplicaSetUpdate } from './replica-set.ts';
export {
  validateStatefulSet,
  validateStatefulSetStatusUpdate,
  validateStatefulSetUpdate,
} from './stateful-set.ts';
