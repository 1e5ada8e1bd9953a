// Validation of apps/v1: one function per kind and way of writing it. Messages, paths and error types throughout this folder
// are Kubernetes' own (pkg/apis/apps/validation), oddities included. Metadata is checked for all kinds alike, elsewhere.

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
