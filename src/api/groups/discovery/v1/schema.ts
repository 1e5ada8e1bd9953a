// Every type of discovery.k8s.io/v1: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import {
  atomic,
  atomicMessage,
  f,
  groupVersion,
  kind,
  message,
  oneOf,
  optional,
  resource,
  set,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('discovery.k8s.io', 'v1', 'io.k8s.api.discovery.v1', {
  AddressType: oneOf('IPv4', 'IPv6', 'FQDN'),
  EndpointSlice: resource({ resource: 'endpointslices', scope: 'Namespaced' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('addressType', 4, 'AddressType'),
    f('endpoints', 2, '[]Endpoint', optional, atomic),
    f('ports', 3, '[]EndpointPort', optional, atomic),
  ]),
  Endpoint: message(() => [
    f('addresses', 1, '[]string', set),
    f('conditions?', 2, 'EndpointConditions'),
    f('hostname?', 3, '*string'),
    f('targetRef?', 4, '*core/v1.ObjectReference'),
    f('deprecatedTopology?', 5, '{}string'),
    f('nodeName?', 6, '*string'),
    f('zone?', 7, '*string'),
    f('hints?', 8, '*EndpointHints'),
  ]),
  EndpointConditions: message(() => [
    f('ready?', 1, '*bool'),
    f('serving?', 2, '*bool'),
    f('terminating?', 3, '*bool'),
  ]),
  EndpointHints: message(() => [
    f('forZones?', 1, '[]ForZone', atomic),
    f('forNodes?', 2, '[]ForNode', atomic),
  ]),
  ForZone: message(() => [f('name', 1, 'string')]),
  ForNode: message(() => [f('name', 1, 'string')]),
  EndpointPort: atomicMessage(() => [
    f('name?', 1, '*string'),
    f('protocol?', 2, '*core/v1.Protocol'),
    f('port?', 3, '*int32'),
    f('appProtocol?', 4, '*string'),
  ]),
  EndpointSliceList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]EndpointSlice'),
  ]),
});
