// Ingresses of this controller's classes, as listeners of the proxy.

import type { Ingress, IngressBackend } from '#api/groups/networking/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type {
  Backend,
  Certificate,
  HostRoutes,
  PathMatch,
  RouteAction,
  RouteRule,
  VirtualListener,
} from '../model.ts';
import { inPrecedence } from '../routing/precedence.ts';
import { backendOf, protocolOf, tcpPort } from './backends.ts';
import { certificateOf } from './certificates.ts';
import { type Problem, problemOf } from './problem.ts';
import { compareAge, INGRESS_CONTROLLER, type IngressObjects } from './objects.ts';

/**
 * The annotation that named the class before spec.ingressClassName existed; it takes precedence.
 */
const CLASS_ANNOTATION = 'kubernetes.io/ingress.class';
/**
 * The group of all Ingress listeners: a connection for one of their hosts may request another one.
 */
const GROUP = 'ingress';
/** The status code for an Ingress without its back end. */
const NO_BACKEND = 503;

export interface DecidedIngresses {
  /** The Ingresses of this controller. */
  readonly ingresses: readonly Immutable<Ingress>[];
  readonly plain: readonly VirtualListener[];
  readonly encrypted: readonly VirtualListener[];
  /** Texts about parts that cannot be served. */
  readonly problems: readonly Problem[];
}

export function decideIngresses(objects: IngressObjects): DecidedIngresses {
  const classes = new Set(
    objects
      .ingressClasses()
      .filter(({ spec }) => spec.controller === INGRESS_CONTROLLER)
      .map(({ metadata }) => metadata.name),
  );
  const ingresses = objects
    .ingresses()
    .filter(({ metadata, spec }) =>
      classes.has(metadata.annotations?.[CLASS_ANNOTATION] ?? spec.ingressClassName ?? ''),
    )
    .sort(compareAge);
  const problems: Problem[] = [];
  const rules = new Map<string, RouteRule[]>();
  const defaults: RouteRule[] = [];
  for (const ingress of ingresses) collectRules(ingress, objects, rules, defaults, problems);
  // Default backends have the lowest precedence; the oldest Ingress wins.
  if (defaults.length > 0) rules.set('', [...(rules.get('') ?? []), ...defaults]);
  const certificates = collectCertificates(ingresses, objects, problems);
  const hosts = new Map(
    Array.from(rules, ([hostname, list]): readonly [string, HostRoutes] => [
      hostname,
      { hostname, oneLabel: true, rules: inPrecedence(list) },
    ]),
  );
  const listeners = [...new Set(['', ...rules.keys(), ...certificates.keys()])];
  const listener = (hostname: string, own: readonly Certificate[]): VirtualListener => ({
    hostname,
    group: GROUP,
    certificates: own,
    hosts: hostnamesFor(hostname).flatMap((each) => hosts.get(each) ?? []),
  });
  return {
    ingresses,
    plain: listeners.map((hostname) => listener(hostname, [])),
    encrypted: listeners.flatMap((hostname) => {
      const own = certificatesFor(hostname, certificates);
      return own.length === 0 && hostname !== '' ? [] : [listener(hostname, own)];
    }),
    problems,
  };
}

/**
 * Returns the hostnames of the rules that may apply to a hostname: itself, the wildcard above it,
 * and ''.
 */
function hostnamesFor(hostname: string): string[] {
  const dot = hostname.indexOf('.');
  const wildcard = dot < 0 || hostname.startsWith('*.') ? [] : [`*${hostname.slice(dot)}`];
  return [...new Set([hostname, ...wildcard, ''])];
}

function collectRules(
  ingress: Immutable<Ingress>,
  objects: IngressObjects,
  rules: Map<string, RouteRule[]>,
  defaults: RouteRule[],
  problems: Problem[],
): void {
  const route = `Ingress ${ingress.metadata.namespace}/${ingress.metadata.name}`;
  const actionOf = (backend: Immutable<IngressBackend>): RouteAction => {
    const target = backendOfIngress(ingress, backend, objects);
    if (typeof target === 'string') problems.push(problemOf('Ingress', ingress.metadata, target));
    return {
      route,
      mirrors: [],
      backends: [{ weight: 1, target: typeof target === 'string' ? NO_BACKEND : target }],
    };
  };
  const rule = (path: PathMatch, action: RouteAction): RouteRule => ({
    path,
    headers: [],
    query: [],
    action,
  });
  const { defaultBackend } = ingress.spec;
  for (const { host = '', http } of ingress.spec.rules ?? []) {
    const own =
      http?.paths.map(({ path, pathType, backend }) =>
        rule(pathMatch(pathType, path), actionOf(backend)),
      ) ?? [];
    // A rule without paths leaves all traffic of its host to the default backend.
    if (own.length === 0 && defaultBackend !== undefined)
      own.push(rule({ type: 'PathPrefix', value: '/' }, actionOf(defaultBackend)));
    const hostname = host.toLowerCase();
    rules.set(hostname, [...(rules.get(hostname) ?? []), ...own]);
  }
  if (defaultBackend !== undefined)
    defaults.push(rule({ type: 'PathPrefix', value: '/' }, actionOf(defaultBackend)));
}

/** ImplementationSpecific means Prefix here. */
function pathMatch(pathType: string, path = '/'): PathMatch {
  return { type: pathType === 'Exact' ? 'Exact' : 'PathPrefix', value: path === '' ? '/' : path };
}

function backendOfIngress(
  ingress: Immutable<Ingress>,
  { service: ref, resource }: Immutable<IngressBackend>,
  objects: IngressObjects,
): Backend | string {
  const { namespace = '' } = ingress.metadata;
  if (ref === undefined) return `back ends of the kind ${resource?.kind ?? ''} are not supported`;
  const service = objects.service(namespace, ref.name);
  if (service === undefined) return `Service ${namespace}/${ref.name} not found`;
  if (service.spec.type === 'ExternalName')
    return `Service ${ref.name} has the type ExternalName, which is not supported`;
  const { name, number } = ref.port;
  const port = tcpPort(service, (each) =>
    number === undefined ? each.name === name : each.port === number,
  );
  if (port === undefined)
    return `Service ${namespace}/${ref.name} has no port ${name ?? number ?? ''}`;
  const protocol = protocolOf(port.appProtocol, false);
  if (protocol === undefined)
    return `the protocol ${port.appProtocol} of Service ${namespace}/${ref.name} is not supported`;
  return backendOf(service, port, objects.endpointSlices(namespace, ref.name), protocol);
}

/**
 * Returns certificates by hostname: for the hosts of `tls`, or without any, for the hosts of the
 * rules.
 */
function collectCertificates(
  ingresses: readonly Immutable<Ingress>[],
  objects: IngressObjects,
  problems: Problem[],
): Map<string, Certificate[]> {
  const result = new Map<string, Certificate[]>();
  for (const { metadata, spec } of ingresses) {
    const { namespace = '' } = metadata;
    for (const { hosts, secretName } of spec.tls ?? []) {
      const problem = (text: string): void =>
        void problems.push(problemOf('Ingress', metadata, text));
      if (secretName === undefined || secretName === '') {
        problem('tls without a secretName has no certificate');
        continue;
      }
      const secret = objects.secret(namespace, secretName);
      if (secret === 'pending') continue;
      const certificate = secret === undefined ? 'it does not exist' : certificateOf(secret);
      if (typeof certificate === 'string') {
        problem(`Secret ${namespace}/${secretName}: ${certificate}`);
        continue;
      }
      const names = hosts?.length ? hosts : (spec.rules ?? []).map(({ host = '' }) => host);
      for (const host of names.length === 0 ? [''] : names) {
        const hostname = host.toLowerCase();
        result.set(hostname, [...(result.get(hostname) ?? []), certificate]);
      }
    }
  }
  return result;
}

/**
 * Returns the certificates of a host. Without its own certificate it uses those of the wildcard
 * above it, or those of Ingresses without hosts.
 */
function certificatesFor(
  hostname: string,
  certificates: ReadonlyMap<string, readonly Certificate[]>,
): readonly Certificate[] {
  for (const each of hostnamesFor(hostname)) {
    const own = certificates.get(each);
    if (own !== undefined) return own;
  }
  return [];
}
