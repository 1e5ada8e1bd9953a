// The controller that carries out NoExecute taints.

export { TaintEvictionController } from './taint-eviction-controller.ts';
export type { TaintEvictionConfig } from './taint-eviction-controller.ts';
