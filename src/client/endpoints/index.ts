// The endpoints of a service, and the choice of those that get traffic. Pure functions for every
// component that connects to services directly.

export {
  type Endpoint,
  type EndpointsByPort,
  HEADLESS_LABEL,
  MAX_ENDPOINTS,
  portKey,
  type Protocol,
  protocolOf,
  SERVICE_NAME_LABEL,
} from './endpoint.ts';
export { endpointsOfObject } from './from-endpoints.ts';
export { endpointsOf, type EndpointsOptions, usableIPv4 } from './from-slices.ts';
export { endpointsOfPort } from './of-service.ts';
export { type Policies, select, type Selection, usableEndpoints } from './select.ts';
