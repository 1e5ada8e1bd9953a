// The controller that deletes finished jobs.

export { TtlAfterFinishedController } from './ttl-after-finished-controller.ts';
