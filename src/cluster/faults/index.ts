// What happens to errors that nothing catches.

export { RestartBackoff } from './restarts.ts';
export { UncaughtErrors } from './uncaught-errors.ts';
