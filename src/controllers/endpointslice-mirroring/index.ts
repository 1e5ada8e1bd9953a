// The controller that mirrors Endpoints to EndpointSlices.

export { EndpointSliceMirroringController } from './endpoint-slice-mirroring-controller.ts';
export type { EndpointSliceMirroringConfig } from './endpoint-slice-mirroring-controller.ts';
