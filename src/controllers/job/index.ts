// The job controller.

export { JobController } from './job-controller.ts';
export type { JobControllerConfig } from './job-controller.ts';
