// StatefulSets: ordered pods with stable names and claims.

export { StatefulSetController } from './statefulset-controller.ts';
export type { StatefulSetControllerConfig } from './statefulset-controller.ts';
