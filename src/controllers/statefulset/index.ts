// StatefulSets: pods with names and claims of their own, in order.

export { StatefulSetController } from './statefulset-controller.ts';
export type { StatefulSetControllerConfig } from './statefulset-controller.ts';
