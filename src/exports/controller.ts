// `coxswain/controller`: a controller in ten lines, inside `startCluster` or on any cluster.

export { defineController, ownerReference, runController } from '#controllers/operator/index.ts';
export type {
  ControllerContext,
  ControllerDefinition,
  ControllerOptions,
  LeaderElectionOptions,
  ReconcileObject,
  Request,
  RunControllerOptions,
  SourceOptions,
} from '#controllers/operator/index.ts';
export { reconciled, requeue, requeueAfter } from '#client/workqueue/index.ts';
export type { RateLimiter, ReconcileResult } from '#client/workqueue/index.ts';
export { only } from '#controllers/predicate.ts';
export type { Keys, Predicate } from '#controllers/predicate.ts';
