// Controllers of other programs, in a few lines.

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
