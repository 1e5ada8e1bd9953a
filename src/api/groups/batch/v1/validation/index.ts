// Validation of batch/v1: one function per kind and operation. Messages, paths and error types in
// this folder are those of Kubernetes (pkg/apis/batch/validation), its inconsistencies included.
// Metadata is validated elsewhere, with the same rules for all kinds.

export { validateCronJob, validateCronJobUpdate } from './cron-job.ts';
export { validateJob, validateJobUpdate } from './job.ts';
export { validateJobStatusUpdate } from './job-status.ts';
