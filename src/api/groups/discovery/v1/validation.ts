// Validation of endpoint slices. Messages and paths are upstream's (pkg/apis/discovery/validation).

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';
import { formatIp, parseIp } from '#machinery/net/ip.ts';
import * as validation from '#machinery/validation/validation.ts';
import { immutable, invalidEach, isIPv6 } from '#api/groups/core/v1/validation/common.ts';
import { legacyIP } from '#api/groups/core/v1/validation/ip.ts';
import { nonSpecialIP } from '#api/groups/core/v1/validation/service-addresses.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as discovery from './types.ts';

type EndpointSlice = Immutable<discovery.EndpointSlice>;
type Endpoint = Immutable<discovery.Endpoint>;

const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const MAX_ENDPOINTS = 1000;
const MAX_PORTS = 20_000;
const MAX_ADDRESSES = 100;
const MAX_TOPOLOGY = 16;
const MAX_HINTS = 8;

/** Validates a slice. `old`: its endpoints may stay unchanged. */
export function validateEndpointSlice(
  { addressType, endpoints, ports }: EndpointSlice,
  old?: EndpointSlice,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const at = field.path('addressType');
  if ((addressType as string) === '') errors.push(field.required(at));
  else if (!ADDRESS_TYPES.includes(addressType))
    errors.push(field.notSupported(at, addressType, ADDRESS_TYPES));
  const place = field.path('endpoints');
  const list = endpoints ?? [];
  errors.push(...validatePorts(ports ?? []));
  if (list.length > MAX_ENDPOINTS) errors.push(field.tooMany(place, list.length, MAX_ENDPOINTS));
  else if (old === undefined || !semanticEqual(list, old.endpoints ?? [])) {
    list.forEach((endpoint, index) =>
      errors.push(...validateEndpoint(endpoint, addressType, place.index(index))),
    );
  }
  return errors;
}

export function validateEndpointSliceUpdate(
  slice: EndpointSlice,
  old: EndpointSlice,
): FieldErrorList {
  return [
    ...validateEndpointSlice(slice, old),
    ...immutable(slice.addressType, old.addressType, field.path('addressType'), Object.is),
  ];
}

function validateEndpoint(endpoint: Endpoint, addressType: string, at: FieldPath): FieldErrorList {
  const { addresses, hostname, nodeName, deprecatedTopology = {}, hints } = endpoint;
  const errors: FieldErrorList = [];
  const place = at.child('addresses');
  const list = addresses ?? [];
  if (list.length === 0) errors.push(field.required(place, 'must contain at least 1 address'));
  else if (list.length > MAX_ADDRESSES)
    errors.push(field.tooMany(place, list.length, MAX_ADDRESSES));
  list.forEach((address, index) =>
    errors.push(...validateAddress(address, addressType, place, index)),
  );
  if (nodeName !== undefined)
    errors.push(
      ...invalidEach(at.child('nodeName'), nodeName, validation.isDNS1123Subdomain(nodeName)),
    );
  const topology = at.child('deprecatedTopology');
  if (Object.keys(deprecatedTopology).length > MAX_TOPOLOGY) {
    errors.push(field.tooMany(topology, Object.keys(deprecatedTopology).length, MAX_TOPOLOGY));
  }
  errors.push(...validation.validateLabels(deprecatedTopology, topology));
  if (hostname !== undefined)
    errors.push(
      ...invalidEach(at.child('hostname'), hostname, validation.isDNS1123Label(hostname)),
    );
  for (const name of ['forZones', 'forNodes'] as const)
    errors.push(...validateHints(hints?.[name] ?? [], name, at.child('hints', name)));
  return errors;
}

function validateHints(
  list: readonly { readonly name: string }[],
  kind: 'forZones' | 'forNodes',
  at: FieldPath,
): FieldErrorList {
  if (list.length > MAX_HINTS) return [field.tooMany(at, list.length, MAX_HINTS)];
  const seen = new Set<string>();
  return list.flatMap(({ name }, index) => {
    const place = at.index(index).child('name');
    if (seen.has(name)) return [field.duplicate(place, name)];
    seen.add(name);
    return invalidEach(
      place,
      name,
      kind === 'forZones'
        ? validation.isValidLabelValue(name)
        : validation.isDNS1123Subdomain(name),
    );
  });
}

function validateAddress(
  address: string,
  addressType: string,
  addresses: FieldPath,
  index: number,
): FieldErrorList {
  const at = addresses.index(index);
  if (addressType === 'FQDN') return fullName(address, at);
  if (addressType !== 'IPv4' && addressType !== 'IPv6') return [];
  // IPv6 addresses never had another form than the canonical one.
  const errors = addressType === 'IPv6' ? canonicalIP(address, at) : legacyIP(address, at);
  if (errors.length > 0) return errors;
  const isOther = isIPv6(address) !== (addressType === 'IPv6');
  // The error for the wrong family has the path of the list.
  const mismatch = isOther
    ? [field.invalid(addresses, address, `must be an ${addressType} address`)]
    : [];
  return [...mismatch, ...nonSpecialIP(address, at)];
}

function canonicalIP(address: string, at: FieldPath): FieldErrorList {
  const errors = legacyIP(address, at);
  const parsed = parseIp(address);
  if (errors.length > 0 || parsed === undefined || formatIp(parsed) === address) return errors;
  return [field.invalid(at, address, `must be in canonical form (${quote(formatIp(parsed))})`)];
}

/** Validates a name of several labels, with or without a final dot. */
function fullName(given: string, at: FieldPath): FieldErrorList {
  if (given === '') return [field.required(at)];
  const name = given.endsWith('.') ? given.slice(0, -1) : given;
  const problems = validation.isDNS1123Subdomain(name);
  if (problems.length > 0) return [field.invalid(at, name, problems.join(','))];
  const labels = name.split('.');
  if (labels.length < 2) {
    return [
      field.invalid(at, name, 'should be a domain with at least two segments separated by dots'),
    ];
  }
  const bad = labels.find((label) => validation.isDNS1123Label(label).length > 0);
  return bad === undefined
    ? []
    : [field.invalid(at, bad, validation.isDNS1123Label(bad).join(','))];
}

function validatePorts(ports: readonly Immutable<discovery.EndpointPort>[]): FieldErrorList {
  const at = field.path('ports');
  if (ports.length > MAX_PORTS) return [field.tooMany(at, ports.length, MAX_PORTS)];
  const seen = new Set<string>();
  return ports.flatMap(({ name = '', protocol, appProtocol }, index) => {
    const place = at.index(index);
    const errors: FieldErrorList = [];
    if (name !== '')
      errors.push(...invalidEach(place.child('name'), name, validation.isDNS1123Label(name)));
    if (seen.has(name)) errors.push(field.duplicate(place.child('name'), name));
    seen.add(name);
    if (protocol === undefined) errors.push(field.required(place.child('protocol')));
    else if (!PROTOCOLS.includes(protocol))
      errors.push(field.notSupported(place.child('protocol'), protocol, PROTOCOLS));
    if (appProtocol !== undefined) {
      errors.push(
        ...invalidEach(
          place.child('appProtocol'),
          appProtocol,
          validation.isQualifiedName(appProtocol),
        ),
      );
    }
    return errors;
  });
}
