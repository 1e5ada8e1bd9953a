// The ResourceQuota controller.

export { ResourceQuotaController } from './resource-quota-controller.ts';
export type { ResourceQuotaControllerConfig } from './resource-quota-controller.ts';
