// The public API for controllers of other programs.

export { defineController, ownerReference, runController } from './operator.ts';
export type {
  ControllerContext,
  ControllerDefinition,
  ControllerOptions,
  LeaderElectionOptions,
  ReconcileObject,
  Request,
  RunControllerOptions,
  SourceOptions,
} from './operator.ts';
