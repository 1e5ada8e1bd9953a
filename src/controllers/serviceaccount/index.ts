// The controller of default ServiceAccounts.

export { ServiceAccountsController } from './service-accounts-controller.ts';
export type { ServiceAccountsControllerConfig } from './service-accounts-controller.ts';
