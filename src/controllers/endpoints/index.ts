// The controller of Endpoints.

export { EndpointsController } from './endpoints-controller.ts';
export type { EndpointsControllerConfig } from './endpoints-controller.ts';
