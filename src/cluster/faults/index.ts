// The handling of errors that nothing catches.

export { keepRunning } from './keep-running.ts';
export { RestartBackoff } from './restarts.ts';
export { UncaughtErrors } from './uncaught-errors.ts';
