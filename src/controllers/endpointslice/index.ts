// The controller of EndpointSlices, and the rules for endpoints that other controllers share.

export { EndpointSliceController, MANAGER } from './endpoint-slice-controller.ts';
export type { EndpointSliceControllerConfig } from './endpoint-slice-controller.ts';
