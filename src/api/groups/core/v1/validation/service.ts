// Validation of services.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Service, ServicePort } from './types.ts';
import { invalidEach, oneOf, optionalOneOf, portNumberOrName } from './common.ts';
import { isAddress, legacyCIDR, legacyIP } from './ip.ts';
import {
  clusterAddresses,
  clusterAddressesUpdate,
  isHeadless,
  nonSpecialIP,
} from './service-addresses.ts';

const SPEC = new field.FieldPath('spec');
const ANNOTATIONS = new field.FieldPath('metadata', 'annotations');
const TOPOLOGY_MODE = 'service.kubernetes.io/topology-mode';
const TOPOLOGY_HINTS = 'service.kubernetes.io/topology-aware-hints';
const SOURCE_RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';
const ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'";
const MAX_AFFINITY_SECONDS = 86_400;
const TRAFFIC_DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];

/** Validates a service. `old`: the previous version, whose addresses may keep their form. */
export function validateService(service: Service, old?: Service): FieldErrorList {
  const { spec } = service;
  const headless = isHeadless(service);
  const noPorts = (spec.ports ?? []).length === 0 && !headless && spec.type !== 'ExternalName';
  return [
    ...topologyAnnotations(service),
    ...(noPorts ? [field.required(SPEC.child('ports'))] : []),
    ...addressOfType(service, headless),
    ...portsAlone(service),
    ...validation.validateLabels(spec.selector, SPEC.child('selector')),
    ...sessionAffinity(service),
    ...clusterAddresses(service, old),
    ...(spec.externalIPs ?? []).flatMap((address, index) =>
      externalIP(address, old?.spec.externalIPs, SPEC.child('externalIPs').index(index)),
    ),
    ...oneOf(
      spec.type,
      ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'],
      SPEC.child('type'),
    ),
    ...portsTogether(service),
    ...loadBalancer(service, old),
    ...externalTraffic(service),
    ...internalTraffic(service),
    ...optionalOneOf(
      spec.trafficDistribution,
      TRAFFIC_DISTRIBUTIONS,
      SPEC.child('trafficDistribution'),
    ),
  ];
}

function topologyAnnotations({ metadata }: Service): FieldErrorList {
  const mode = metadata.annotations?.[TOPOLOGY_MODE];
  const hints = metadata.annotations?.[TOPOLOGY_HINTS];
  if (mode === undefined || hints === undefined || mode === hints) return [];
  const message = `must match annotations[${TOPOLOGY_HINTS}] when both are specified`;
  return [field.invalid(ANNOTATIONS.key(TOPOLOGY_MODE), mode, message)];
}

/** Validates fields that the service's type does not allow. */
function addressOfType({ spec }: Service, headless: boolean): FieldErrorList {
  switch (spec.type) {
    case 'LoadBalancer':
    case 'NodePort': {
      if (!headless) return [];
      const message = `may not be set to 'None' for ${spec.type} services`;
      return [field.invalid(SPEC.child('clusterIPs').index(0), 'None', message)];
    }
    case 'ExternalName': {
      const message = 'may not be set for ExternalName services';
      const errors: FieldErrorList = [];
      for (const name of ['clusterIPs', 'ipFamilies'] as const) {
        if ((spec[name] ?? []).length > 0) errors.push(field.forbidden(SPEC.child(name), message));
      }
      if (spec.ipFamilyPolicy !== undefined)
        errors.push(field.forbidden(SPEC.child('ipFamilyPolicy'), message));
      const name = (spec.externalName ?? '').replace(/\.$/, '');
      const at = SPEC.child('externalName');
      errors.push(
        ...(name === ''
          ? [field.required(at)]
          : invalidEach(at, name, validation.isDNS1123Subdomain(name))),
      );
      return errors;
    }
    default:
      return [];
  }
}

function portsAlone({ spec }: Service): FieldErrorList {
  const list = spec.ports ?? [];
  const names = new Set<string>();
  return list.flatMap((port, index) =>
    servicePort(port, list.length > 1, names, SPEC.child('ports').index(index)),
  );
}

function servicePort(
  port: ServicePort,
  needsName: boolean,
  names: Set<string>,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const { name = '', appProtocol } = port;
  if (name !== '') {
    errors.push(...invalidEach(at.child('name'), name, validation.isDNS1123Label(name)));
    if (names.has(name)) errors.push(field.duplicate(at.child('name'), name));
    names.add(name);
  } else if (needsName) errors.push(field.required(at.child('name')));
  errors.push(
    ...invalidEach(at.child('port'), port.port, validation.isValidPortNum(port.port)),
    ...oneOf(port.protocol, ['SCTP', 'TCP', 'UDP'], at.child('protocol')),
    ...portNumberOrName(port.targetPort, at.child('targetPort')),
  );
  if (appProtocol !== undefined) {
    errors.push(
      ...invalidEach(at.child('appProtocol'), appProtocol, validation.isQualifiedName(appProtocol)),
    );
  }
  return errors;
}

/** Validates that ports of one protocol are unique, both the service's and the node ports. */
function portsTogether({ spec }: Service): FieldErrorList {
  const errors: FieldErrorList = [];
  const list = spec.ports ?? [];
  const at = SPEC.child('ports');
  const nodePortOf = (port: ServicePort): number => port.nodePort ?? 0;
  if (spec.type === 'ClusterIP') {
    list.forEach((port, index) => {
      if (nodePortOf(port) === 0) return;
      errors.push(
        field.forbidden(
          at.index(index).child('nodePort'),
          "may not be used when `type` is 'ClusterIP'",
        ),
      );
    });
  }
  const nodePorts = new Set<string>();
  list.forEach((port, index) => {
    if (nodePortOf(port) === 0) return;
    const key = `${port.protocol}/${port.nodePort}`;
    if (nodePorts.has(key))
      errors.push(field.duplicate(at.index(index).child('nodePort'), port.nodePort));
    nodePorts.add(key);
  });
  const ports = new Set<string>();
  list.forEach(({ protocol, port }, index) => {
    const key = `${protocol}/${port}`;
    if (ports.has(key)) {
      const shown = {
        Name: '',
        Protocol: protocol,
        AppProtocol: null,
        Port: port,
        TargetPort: 0,
        NodePort: 0,
      };
      errors.push(field.duplicate(at.index(index), shown));
    }
    ports.add(key);
  });
  return errors;
}

function sessionAffinity({ spec }: Service): FieldErrorList {
  const errors = oneOf(spec.sessionAffinity, ['ClientIP', 'None'], SPEC.child('sessionAffinity'));
  const at = SPEC.child('sessionAffinityConfig');
  const config = spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'None' && config !== undefined) {
    errors.push(field.forbidden(at, 'must not be set when session affinity is None'));
  }
  if (spec.sessionAffinity !== 'ClientIP') return errors;
  const missing = 'when session affinity type is ClientIP';
  const seconds = config?.clientIP?.timeoutSeconds;
  if (config === undefined) errors.push(field.required(at, missing));
  else if (config.clientIP === undefined)
    errors.push(field.required(at.child('clientIP'), missing));
  else if (seconds === undefined)
    errors.push(field.required(at.child('clientIP', 'timeoutSeconds'), missing));
  else if (seconds <= 0 || seconds > MAX_AFFINITY_SECONDS) {
    const message = `must be greater than 0 and less than ${MAX_AFFINITY_SECONDS}`;
    errors.push(field.invalid(at.child('clientIP', 'timeoutSeconds'), seconds, message));
  }
  return errors;
}

function externalIP(
  address: string,
  old: readonly string[] | undefined,
  at: FieldPath,
): FieldErrorList {
  const errors = legacyIP(address, at, old);
  return errors.length > 0 ? errors : nonSpecialIP(address, at);
}

function loadBalancer(service: Service, old: Service | undefined): FieldErrorList {
  const { spec } = service;
  const errors = sourceRanges(service, old);
  const is = spec.type === 'LoadBalancer';
  if (!is && spec.allocateLoadBalancerNodePorts !== undefined) {
    errors.push(field.forbidden(SPEC.child('allocateLoadBalancerNodePorts'), ONLY_LOAD_BALANCER));
  }
  if (is && spec.allocateLoadBalancerNodePorts === undefined) {
    errors.push(field.required(field.path('allocateLoadBalancerNodePorts')));
  }
  return [...errors, ...balancerClass(service)];
}

function balancerClass({ spec: { type, loadBalancerClass: name } }: Service): FieldErrorList {
  if (name === undefined) return [];
  const at = SPEC.child('loadBalancerClass');
  if (type !== 'LoadBalancer') return [field.forbidden(at, ONLY_LOAD_BALANCER)];
  return invalidEach(at, name, validation.isQualifiedName(name));
}

/** Validates the source ranges in the field, or in its former annotation. */
function sourceRanges({ metadata, spec }: Service, old: Service | undefined): FieldErrorList {
  const list = spec.loadBalancerSourceRanges ?? [];
  const annotation = metadata.annotations?.[SOURCE_RANGES];
  if (list.length === 0 && annotation === undefined) return [];
  const at =
    list.length > 0 ? SPEC.child('LoadBalancerSourceRanges') : ANNOTATIONS.key(SOURCE_RANGES);
  const errors = spec.type === 'LoadBalancer' ? [] : [field.forbidden(at, ONLY_LOAD_BALANCER)];
  // Surrounding space is accepted, for compatibility with the annotation.
  const before = (old?.spec.loadBalancerSourceRanges ?? []).map((range) => range.trim());
  if (list.length > 0) {
    return [
      ...errors,
      ...list.flatMap((range, index) => legacyCIDR(range.trim(), at.index(index), before)),
    ];
  }
  if (annotation === old?.metadata.annotations?.[SOURCE_RANGES]) return errors;
  const ranges = (annotation ?? '').trim() === '' ? [] : annotation!.split(',');
  return [...errors, ...ranges.flatMap((range) => legacyCIDR(range.trim(), at))];
}

const isReachableFromOutside = ({ spec }: Service): boolean =>
  spec.type === 'NodePort' ||
  spec.type === 'LoadBalancer' ||
  (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0);

/**
 * Reports whether the service needs a health check: load balancers must find the nodes with local
 * endpoints.
 */
const needsHealthCheck = ({ spec }: Service): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

function externalTraffic(service: Service): FieldErrorList {
  const { spec } = service;
  const errors: FieldErrorList = [];
  const policy = SPEC.child('externalTrafficPolicy');
  if (isReachableFromOutside(service))
    errors.push(...oneOf(spec.externalTrafficPolicy, ['Cluster', 'Local'], policy));
  else if (spec.externalTrafficPolicy !== undefined) {
    const message = 'may only be set for externally-accessible services';
    errors.push(field.invalid(policy, spec.externalTrafficPolicy, message));
  }
  // A missing port is allocated when the service is written.
  const port = spec.healthCheckNodePort ?? 0;
  if (port === 0) return errors;
  const at = SPEC.child('healthCheckNodePort');
  if (needsHealthCheck(service))
    errors.push(...invalidEach(at, port, validation.isValidPortNum(port)));
  else {
    const message =
      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.push(field.invalid(at, port, message));
  }
  return errors;
}

function internalTraffic({ spec }: Service): FieldErrorList {
  const at = SPEC.child('internalTrafficPolicy');
  if (spec.internalTrafficPolicy !== undefined)
    return optionalOneOf(spec.internalTrafficPolicy, ['Cluster', 'Local'], at);
  const needed =
    spec.type === 'ClusterIP' || spec.type === 'NodePort' || spec.type === 'LoadBalancer';
  return needed ? [field.required(at)] : [];
}

export function validateServiceUpdate(service: Service, old: Service): FieldErrorList {
  const errors = clusterAddressesUpdate(service, old);
  const { loadBalancerClass } = service.spec;
  if (service.spec.type === 'LoadBalancer' && old.spec.type === 'LoadBalancer') {
    if (loadBalancerClass !== old.spec.loadBalancerClass) {
      errors.push(
        field.invalid(
          SPEC.child('loadBalancerClass'),
          loadBalancerClass ?? null,
          'may not change once set',
        ),
      );
    }
  }
  errors.push(...balancerClass(service));
  if (needsHealthCheck(service) && needsHealthCheck(old)) {
    if (service.spec.healthCheckNodePort !== old.spec.healthCheckNodePort) {
      errors.push(field.forbidden(SPEC.child('healthCheckNodePort'), 'field is immutable'));
    }
  }
  return [...errors, ...validateService(service, old)];
}

export function validateServiceStatusUpdate(
  { spec, status }: Service,
  old?: Service,
): FieldErrorList {
  const at = field.path('status', 'loadBalancer', 'ingress');
  const list = status.loadBalancer.ingress ?? [];
  if (spec.type !== 'LoadBalancer' && list.length > 0) {
    return [field.forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  const before = (old?.status.loadBalancer.ingress ?? []).map(({ ip = '' }) => ip);
  return list.flatMap(({ ip = '', hostname = '', ipMode }, index) => {
    const path = at.index(index);
    const errors = ip === '' ? [] : legacyIP(ip, path.child('ip'), before);
    if (ipMode === undefined) {
      if (ip !== '')
        errors.push(field.required(path.child('ipMode'), 'must be specified when `ip` is set'));
    } else if (ip === '')
      errors.push(
        field.forbidden(path.child('ipMode'), 'may not be specified when `ip` is not set'),
      );
    else errors.push(...optionalOneOf(ipMode, ['Proxy', 'VIP'], path.child('ipMode')));
    if (hostname !== '') {
      const problems = [...validation.isDNS1123Subdomain(hostname)];
      if (isAddress(hostname)) problems.push('must be a DNS name, not an IP address');
      errors.push(...invalidEach(path.child('hostname'), hostname, problems));
    }
    return errors;
  });
}
