// Validation of batch/v1: one function per kind and way of writing it. Messages, paths and error types throughout this folder
// are Kubernetes' own (pkg/apis/batch/validation), oddities included. Metadata is checked for all kinds alike, elsewhere.

export { validateCronJob, validateCronJobUpdate } from './cron-job.ts';
export { validateJob, validateJobUpdate } from './job.ts';
export { validateJobStatusUpdate } from './job-status.ts';
