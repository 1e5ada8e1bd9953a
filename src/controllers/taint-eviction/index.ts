// The controller that evicts pods for NoExecute taints.

export { TaintEvictionController } from './taint-eviction-controller.ts';
export type { TaintEvictionConfig } from './taint-eviction-controller.ts';
