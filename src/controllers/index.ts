// The controllers: they bring the cluster to the state that its objects ask for.

export { ControllerManager } from './controller-manager.ts';
export type { ControllerManagerConfig } from './controller-manager.ts';
export { CONTROLLER_NAMES } from './controllers.ts';
export type { ControllerName, ControllerNeeds, ControllerSettings } from './controllers.ts';
export type { RecyclerOptions, RecyclerSettings } from './persistent-volume/index.ts';
export { ControllerManagerMetrics } from './metrics.ts';
export { controllersHelp, selectControllers, UnknownControllerError } from './selection.ts';
