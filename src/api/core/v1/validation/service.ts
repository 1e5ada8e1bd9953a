// Rules of services.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { Service, ServicePort } from './types.ts';
import { invalidEach, oneOf, portNumberOrName } from './common.ts';

const AT = new field.FieldPath('spec');

export function validateService(service: Service): FieldErrorList {
  const errors: FieldErrorList = [];
  const { spec } = service;
  const headless = spec.clusterIP === 'None';
  if ((spec.ports ?? []).length === 0 && !headless && spec.type !== 'ExternalName')
    errors.push(field.required(AT.child('ports')));
  if (spec.type === 'ExternalName') {
    const name = (spec.externalName ?? '').replace(/\.$/, '');
    if (name === '') errors.push(field.required(AT.child('externalName')));
    else errors.push(...invalidEach(AT.child('externalName'), spec.externalName, validation.isDNS1123Subdomain(name)));
    if ((spec.clusterIP ?? '') !== '' && !headless)
      errors.push(field.forbidden(AT.child('clusterIP'), 'may not be set for ExternalName services'));
    if (headless) errors.push(field.forbidden(AT.child('clusterIP'), 'may not be set for ExternalName services'));
  }
  if (spec.type === 'LoadBalancer' && headless)
    errors.push(field.invalid(AT.child('clusterIPs').index(0), 'None', "may not be set to 'None' for LoadBalancer services"));
  if (spec.type === 'NodePort' && headless)
    errors.push(field.invalid(AT.child('clusterIPs').index(0), 'None', "may not be set to 'None' for NodePort services"));
  errors.push(...servicePorts(service), ...validation.validateLabels(spec.selector, AT.child('selector')));
  if (spec.sessionAffinity === undefined) errors.push(field.required(AT.child('sessionAffinity')));
  else errors.push(...oneOf(spec.sessionAffinity, ['ClientIP', 'None'], AT.child('sessionAffinity')));
  const timeout = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (spec.sessionAffinity === 'ClientIP' && timeout !== undefined && (timeout <= 0 || timeout > 86_400)) {
    errors.push(
      field.invalid(
        AT.child('sessionAffinityConfig', 'clientIP', 'timeoutSeconds'),
        timeout,
        'must be greater than 0 and less than 86400',
      ),
    );
  }
  errors.push(...oneOf(spec.type, ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'], AT.child('type')));
  (spec.externalIPs ?? []).forEach((address, index) =>
    errors.push(...invalidEach(AT.child('externalIPs').index(index), address, validation.isValidIP(address))),
  );
  if (spec.internalTrafficPolicy !== undefined)
    errors.push(...oneOf(spec.internalTrafficPolicy, ['Cluster', 'Local'], AT.child('internalTrafficPolicy')));
  errors.push(...externalTraffic(service));
  if ((spec.loadBalancerSourceRanges ?? []).length > 0) {
    const path = AT.child('loadBalancerSourceRanges');
    if (spec.type !== 'LoadBalancer') errors.push(field.forbidden(path, "may only be used when `type` is 'LoadBalancer'"));
    (spec.loadBalancerSourceRanges ?? []).forEach((range, index) =>
      errors.push(...invalidEach(path.index(index), range, validation.isValidCIDR(range.trim()))),
    );
  }
  if (spec.loadBalancerClass !== undefined && spec.type !== 'LoadBalancer') {
    errors.push(field.forbidden(AT.child('loadBalancerClass'), "may only be used when `type` is 'LoadBalancer'"));
  }
  errors.push(...clusterIPs(service));
  return errors;
}

function servicePorts(service: Service): FieldErrorList {
  const errors: FieldErrorList = [];
  const { spec } = service;
  const list = spec.ports ?? [];
  const names = new Set<string>();
  const numbers = new Set<string>();
  const nodePorts = new Set<string>();
  list.forEach((port, index) => {
    const path = AT.child('ports').index(index);
    errors.push(...servicePort(port, list.length > 1, names, path));
    const key = `${port.protocol}/${port.port}`;
    if (numbers.has(key)) errors.push(field.duplicate(path, { protocol: port.protocol, port: port.port }));
    numbers.add(key);
    if (port.nodePort !== undefined && port.nodePort !== 0) {
      if (spec.type !== 'NodePort' && spec.type !== 'LoadBalancer') {
        errors.push(field.forbidden(path.child('nodePort'), "may not be used when `type` is 'ClusterIP'"));
      }
      const nodeKey = `${port.protocol}/${port.nodePort}`;
      if (nodePorts.has(nodeKey)) errors.push(field.duplicate(path.child('nodePort'), port.nodePort));
      nodePorts.add(nodeKey);
    }
  });
  return errors;
}

function servicePort(port: ServicePort, needsName: boolean, names: Set<string>, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const name = port.name ?? '';
  if (needsName && name === '') errors.push(field.required(at.child('name')));
  else if (name !== '') {
    errors.push(...invalidEach(at.child('name'), name, validation.isDNS1123Label(name)));
    if (names.has(name)) errors.push(field.duplicate(at.child('name'), name));
    names.add(name);
  }
  errors.push(
    ...invalidEach(at.child('port'), port.port, validation.isValidPortNum(port.port)),
    ...oneOf(port.protocol, ['SCTP', 'TCP', 'UDP'], at.child('protocol')),
    ...portNumberOrName(port.targetPort ?? 0, at.child('targetPort')),
  );
  if (port.appProtocol !== undefined)
    errors.push(...invalidEach(at.child('appProtocol'), port.appProtocol, validation.isQualifiedName(port.appProtocol)));
  return errors;
}

function externalTraffic(service: Service): FieldErrorList {
  const { spec } = service;
  const reachable =
    spec.type === 'NodePort' ||
    spec.type === 'LoadBalancer' ||
    (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0);
  const path = AT.child('externalTrafficPolicy');
  if (!reachable) {
    return spec.externalTrafficPolicy === undefined
      ? []
      : [field.invalid(path, spec.externalTrafficPolicy, 'may only be set for externally-accessible services')];
  }
  return oneOf(spec.externalTrafficPolicy, ['Cluster', 'Local'], path);
}

function clusterIPs(service: Service): FieldErrorList {
  const errors: FieldErrorList = [];
  const { spec } = service;
  if (spec.type === 'ExternalName') return errors;
  const list = spec.clusterIPs ?? (spec.clusterIP === undefined ? [] : [spec.clusterIP]);
  if (list.length > 0 && spec.clusterIP !== list[0])
    errors.push(field.invalid(AT.child('clusterIPs').index(0), list[0], 'must be the same as `clusterIP`'));
  if (list.length > 2) errors.push(field.invalid(AT.child('clusterIPs'), list, 'may only hold up to 2 values'));
  list.forEach((address, index) => {
    if (address === 'None') {
      if (list.length > 1)
        errors.push(
          field.invalid(AT.child('clusterIPs').index(index), address, 'headless services may not set more than one IP'),
        );
    } else errors.push(...invalidEach(AT.child('clusterIPs').index(index), address, validation.isValidIP(address)));
  });
  return errors;
}

/** The cluster IP stays with a service for its life, unless it turns into or out of ExternalName. */
export function validateServiceUpdate(service: Service, old: Service): FieldErrorList {
  const errors: FieldErrorList = [];
  if (old.spec.type !== 'ExternalName' && service.spec.type !== 'ExternalName') {
    const before = old.spec.clusterIP ?? '';
    const after = service.spec.clusterIP ?? '';
    if (before !== '' && after !== before)
      errors.push(field.invalid(AT.child('clusterIPs').index(0), [after], 'may not change once set'));
  }
  return [...errors, ...validateService(service)];
}
