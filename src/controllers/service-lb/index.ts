// The load balancer of clusters without a cloud.

export { ServiceLbController } from './service-lb-controller.ts';
export type { ServiceLbConfig } from './service-lb-controller.ts';
