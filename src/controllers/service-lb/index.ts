// The load balancer for clusters without a cloud provider.

export { ServiceLbController } from './service-lb-controller.ts';
export type { ServiceLbConfig } from './service-lb-controller.ts';
