// Controllers of other programs, in a few lines.

export { defineController, ownerReference, runController } from './operator.ts';
export type {
  ControllerContext,
  ControllerDefinition,
  LeaderElectionOptions,
  ReconcileObject,
  Request,
  RunControllerOptions,
} from './operator.ts';
