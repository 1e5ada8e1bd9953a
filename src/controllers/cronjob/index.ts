// The CronJob controller.

export { CronJobController } from './cronjob-controller.ts';
export type { CronJobControllerConfig } from './cronjob-controller.ts';
