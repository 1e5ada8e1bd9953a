// Validation of ingresses. Messages and paths are upstream's (pkg/apis/networking/validation).

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach } from '#api/groups/core/v1/validation/common.ts';
import { isAddress, legacyIP } from '#api/groups/core/v1/validation/ip.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as networking from '../types.ts';
import { pathSegment } from './addresses.ts';

type Ingress = Immutable<networking.Ingress>;
type Backend = Immutable<networking.IngressBackend>;
type Rule = Immutable<networking.IngressRule>;
type Path = Immutable<networking.HTTPIngressPath>;

/** The annotation for the class before the field existed. */
export const INGRESS_CLASS_ANNOTATION = 'kubernetes.io/ingress.class';
const PATH_TYPES = ['Exact', 'ImplementationSpecific', 'Prefix'];
const NOT_IN_PATHS = ['//', '/./', '/../', '%2f', '%2F'];
const NOT_AT_THE_END = ['/..', '/.'];

export function validateNewIngress(ingress: Ingress): FieldErrorList {
  const errors = validateIngress(ingress);
  const annotated = ingress.metadata.annotations?.[INGRESS_CLASS_ANNOTATION];
  const { ingressClassName } = ingress.spec;
  if (annotated !== undefined && ingressClassName !== undefined && annotated !== ingressClassName) {
    const message = 'must match `ingressClassName` when both are specified';
    errors.push(
      field.invalid(field.path('annotations').child(INGRESS_CLASS_ANNOTATION), annotated, message),
    );
  }
  return errors;
}

/** Errors that were accepted once, and may therefore stay. */
interface Allowances {
  /** Invalid names of secrets. */
  readonly secretNames: boolean;
  /** Invalid paths of wildcard hosts. */
  readonly wildcardRules: boolean;
}
const NOTHING: Allowances = { secretNames: false, wildcardRules: false };

export function validateIngressUpdate(ingress: Ingress, old: Ingress): FieldErrorList {
  const { tls = [], rules = [] } = old.spec;
  return validateIngress(ingress, {
    secretNames: tls.some((each) => secretNameProblems(each.secretName).length > 0),
    wildcardRules: rules.some(
      (rule) => (rule.host ?? '').includes('*') && httpRules(rule.http, field.path()).length > 0,
    ),
  });
}

function validateIngress({ spec }: Ingress, allowed = NOTHING): FieldErrorList {
  const at = field.path('spec');
  const { rules = [], defaultBackend, tls = [], ingressClassName } = spec;
  const errors: FieldErrorList = [];
  if (rules.length === 0 && defaultBackend === undefined) {
    errors.push(field.invalid(at, null, 'either `defaultBackend` or `rules` must be specified'));
  }
  if (defaultBackend !== undefined)
    errors.push(...backend(defaultBackend, at.child('defaultBackend')));
  rules.forEach(({ host = '', http }, index) => {
    const place = at.child('rules').index(index);
    if (host !== '') {
      if (isAddress(host))
        errors.push(
          field.invalid(place.child('host'), host, 'must be a DNS name, not an IP address'),
        );
      errors.push(...hostName(host, place.child('host')));
    }
    if (!host.includes('*') || !allowed.wildcardRules) errors.push(...httpRules(http, place));
  });
  tls.forEach(({ hosts = [], secretName }, index) => {
    const place = at.child('tls').index(index);
    hosts.forEach((host, i) => errors.push(...hostName(host, place.child('hosts').index(i))));
    if (!allowed.secretNames) {
      errors.push(
        ...invalidEach(place.child('secretName'), secretName ?? '', secretNameProblems(secretName)),
      );
    }
  });
  if (ingressClassName !== undefined) {
    errors.push(
      ...invalidEach(
        at.child('ingressClassName'),
        ingressClassName,
        validation.isDNS1123Subdomain(ingressClassName),
      ),
    );
  }
  return errors;
}

function secretNameProblems(name = ''): readonly string[] {
  return name === '' ? [] : validation.isDNS1123Subdomain(name);
}

function httpRules(http: Rule['http'], at: FieldPath): FieldErrorList {
  if (http === undefined) return [];
  const paths = at.child('http', 'paths');
  const list = http.paths ?? [];
  return list.length === 0
    ? [field.required(paths)]
    : list.flatMap((path, index) => httpPath(path, paths.index(index)));
}

function hostName(host: string, at: FieldPath): FieldErrorList {
  const problems = host.includes('*')
    ? validation.isWildcardDNS1123Subdomain(host)
    : validation.isDNS1123Subdomain(host);
  return invalidEach(at, host, problems);
}

function httpPath({ path = '', pathType, backend: target }: Path, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const place = at.child('path');
  const absolute = path.startsWith('/');
  switch (pathType as string | null | undefined) {
    // The field is always written: null if absent.
    case null:
    case undefined:
      return [field.required(at.child('pathType'), 'pathType must be specified')];
    case 'Exact':
    case 'Prefix':
      if (!absolute) errors.push(field.invalid(place, path, 'must be an absolute path'));
      for (const part of NOT_IN_PATHS) {
        if (path.includes(part))
          errors.push(field.invalid(place, path, `must not contain '${part}'`));
      }
      for (const end of NOT_AT_THE_END) {
        if (path.endsWith(end)) errors.push(field.invalid(place, path, `cannot end with '${end}'`));
      }
      break;
    case 'ImplementationSpecific':
      if (path !== '' && !absolute)
        errors.push(field.invalid(place, path, 'must be an absolute path'));
      break;
    default:
      errors.push(field.notSupported(at.child('pathType'), pathType, PATH_TYPES));
  }
  return [...errors, ...backend(target, at.child('backend'))];
}

function backend({ service, resource }: Backend, at: FieldPath): FieldErrorList {
  if (service !== undefined && resource !== undefined) {
    return [field.invalid(at, '', 'cannot set both resource and service backends')];
  }
  if (resource !== undefined) return reference(resource, at.child('resource'));
  if (service === undefined)
    return [field.invalid(at, '', 'resource or service backend is required')];
  const place = at.child('service');
  const { name: portName = '', number = 0 } = service.port;
  const errors =
    service.name === ''
      ? [field.required(place.child('name'))]
      : invalidEach(place.child('name'), service.name, validation.isDNS1123Label(service.name));
  if (portName !== '' && number !== 0) {
    errors.push(field.invalid(at, '', 'cannot set both port name & port number'));
  } else if (portName !== '') {
    errors.push(
      ...invalidEach(place.child('port', 'name'), portName, validation.isValidPortName(portName)),
    );
  } else if (number !== 0) {
    errors.push(
      ...invalidEach(place.child('port', 'number'), number, validation.isValidPortNum(number)),
    );
  } else {
    errors.push(field.required(at, 'port name or number is required'));
  }
  return errors;
}

/** Validates a reference by kind to an object in the same namespace. */
export function reference(
  {
    apiGroup,
    kind,
    name,
  }: { readonly apiGroup?: string | null; readonly kind: string; readonly name: string },
  at: FieldPath,
): FieldErrorList {
  const segment = (value: string, what: 'kind' | 'name'): FieldErrorList =>
    value === '' ? [field.required(at.child(what))] : pathSegment(value, at.child(what));
  return [
    ...(typeof apiGroup === 'string'
      ? invalidEach(at.child('apiGroup'), apiGroup, validation.isDNS1123Subdomain(apiGroup))
      : []),
    ...segment(kind, 'kind'),
    ...segment(name, 'name'),
  ];
}

export function validateIngressStatus({ status }: Ingress, old: Ingress): FieldErrorList {
  const before = (old.status.loadBalancer.ingress ?? []).map(({ ip = '' }) => ip);
  const at = field.path('status', 'loadBalancer', 'ingress');
  return (status.loadBalancer.ingress ?? []).flatMap(({ ip = '', hostname = '' }, index) => {
    const place = at.index(index);
    const errors = ip === '' ? [] : legacyIP(ip, place.child('ip'), before);
    if (hostname === '') return errors;
    errors.push(
      ...invalidEach(place.child('hostname'), hostname, validation.isDNS1123Subdomain(hostname)),
    );
    if (isAddress(hostname)) {
      errors.push(
        field.invalid(place.child('hostname'), hostname, 'must be a DNS name, not an IP address'),
      );
    }
    return errors;
  });
}
