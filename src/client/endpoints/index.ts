// Which endpoints a service has, and which of them get traffic. Pure: for every component that connects to services
// itself.

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
