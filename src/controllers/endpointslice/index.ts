// The controller of EndpointSlices, and what others need of how endpoints are told.

export { EndpointSliceController, MANAGER } from './endpoint-slice-controller.ts';
export type { EndpointSliceControllerConfig } from './endpoint-slice-controller.ts';
