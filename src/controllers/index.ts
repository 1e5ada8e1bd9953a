// Controllers: what makes the cluster as its objects say.

export { CONTROLLER_NAMES, ControllerManager } from './controller-manager.ts';
export type { ControllerManagerConfig, ControllerName, ControllerSettings } from './controller-manager.ts';
