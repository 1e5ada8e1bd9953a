// Warnings about pods and their templates: deprecated fields and labels, and values that hide or
// contradict each other. The messages of the Warning headers are upstream's
// (pkg/api/pod/warnings.go).

import * as field from '#machinery/validation/field.ts';
import type { FieldPath } from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';
import { MILLI, parseQuantity } from '#machinery/text/quantity.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { warningsForIP } from './ip-warnings.ts';
import { pathWarnings } from './path-warnings.ts';
import type * as core from './types.ts';

type PodSpec = Immutable<core.PodSpec>;
type PodTemplateSpec = Immutable<core.PodTemplateSpec>;
type Container = Immutable<core.Container> | Immutable<core.EphemeralContainer>;
type Annotations = Readonly<Record<string, string>>;
type Selects = { readonly labelSelector?: unknown };

/** The warnings of most pods. */
const NONE: string[] = [];

export function podWarnings({ metadata, spec }: Immutable<core.Pod>): string[] {
  return specWarnings(spec, metadata.annotations ?? {}, field.path(), false);
}

/** Returns the warnings of a template. `at`: its path ('spec.template'). */
export function podTemplateWarnings({ metadata, spec }: PodTemplateSpec, at: FieldPath): string[] {
  return specWarnings(spec, metadata.annotations ?? {}, at, true);
}

/** Returns the warnings for the name of an object whose pods contain it. */
export function resourceNameWarnings(name: string): string[] {
  const problems = validation.isDNS1123Label(name);
  if (problems.length === 0) return [];
  const why =
    'this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended';
  return [`metadata.name: ${why}: [${problems.join(' ')}]`];
}

export function claimWarnings(
  { resources }: Immutable<core.PersistentVolumeClaimSpec>,
  at: FieldPath,
): string[] {
  return (['requests', 'limits'] as const).flatMap((list) =>
    fractionalBytes(resources[list], ['storage'], at, 'resources', list),
  );
}

function specWarnings(
  spec: PodSpec,
  annotations: Annotations,
  root: FieldPath,
  isTemplate: boolean,
): string[] {
  const at = root.child('spec');
  const notes = root.child('metadata', 'annotations');
  const containers = containersOf(spec, at);
  const { terminationGracePeriodSeconds: graceSeconds = 0 } = spec;
  return [
    ...nodeLabels(spec, at),
    ...spreadConstraints(spec, at.child('topologySpreadConstraints')),
    ...deprecatedAnnotations(annotations, notes),
    ...volumes(spec, at.child('volumes')),
    ...duplicates(spec, at),
    ...fractionalBytes(spec.overhead, BYTES, at, 'overhead'),
    ...podSeccompAnnotation(spec, annotations, notes),
    ...containers.flatMap(([container, path]) => [
      ...profileAnnotations(spec, container, annotations, isTemplate, notes),
      ...fractionalBytes(container.resources.limits, BYTES, path, 'resources', 'limits'),
      ...fractionalBytes(container.resources.requests, BYTES, path, 'resources', 'requests'),
      ...hiddenVariables(container, path),
    ]),
    ...ports(containers),
    ...(graceSeconds < 0
      ? [
          `${at.child('terminationGracePeriodSeconds').toString()}: must be >= 0; ` +
            'negative values are invalid and will be treated as 1',
        ]
      : []),
    ...podAffinities(spec, at.child('affinity')),
    ...addresses(spec, at),
  ];
}

function addresses({ dnsConfig, hostAliases }: PodSpec, at: FieldPath): string[] {
  if (dnsConfig === undefined && hostAliases === undefined) return NONE;
  const servers = at.child('dnsConfig', 'nameservers');
  return [
    ...(dnsConfig?.nameservers ?? []).flatMap((address, index) =>
      warningsForIP(servers.index(index), address),
    ),
    ...(hostAliases ?? []).flatMap(({ ip }, index) =>
      warningsForIP(at.child('hostAliases').index(index).child('ip'), ip),
    ),
  ];
}

/** Returns the containers; init containers first, in the order of their start. */
function containersOf(spec: PodSpec, at: FieldPath): (readonly [Container, FieldPath])[] {
  return (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((list) =>
    (spec[list] ?? []).map((container, index) => [container, at.child(list).index(index)] as const),
  );
}

const DEPRECATED_NODE_LABELS: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  [
    'failure-domain.beta.kubernetes.io/region',
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  ],
  [
    'failure-domain.beta.kubernetes.io/zone',
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  ],
  [
    'beta.kubernetes.io/instance-type',
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  ],
]);

function nodeLabels({ nodeSelector, affinity }: PodSpec, at: FieldPath): string[] {
  if (nodeSelector === undefined && affinity === undefined) return NONE;
  const warnings: string[] = [];
  for (const label of Object.keys(nodeSelector ?? {})) {
    const message = DEPRECATED_NODE_LABELS.get(label);
    if (message !== undefined)
      warnings.push(`${at.child('nodeSelector').key(label).toString()}: ${message}`);
  }
  const {
    requiredDuringSchedulingIgnoredDuringExecution: required,
    preferredDuringSchedulingIgnoredDuringExecution: preferred,
  } = affinity?.nodeAffinity ?? {};
  const path = at.child('affinity', 'nodeAffinity');
  const terms = path.child('requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms');
  (required?.nodeSelectorTerms ?? []).forEach((term, index) =>
    warnings.push(...nodeSelectorTerm(term, terms.index(index))),
  );
  const preferences = path.child('preferredDuringSchedulingIgnoredDuringExecution');
  (preferred ?? []).forEach(({ preference }, index) => {
    warnings.push(...nodeSelectorTerm(preference, preferences.index(index).child('preference')));
  });
  return warnings;
}

/** Returns the warning for a deprecated node label; undefined for others. */
export const nodeLabelWarning = (label: string): string | undefined =>
  DEPRECATED_NODE_LABELS.get(label);

export function nodeSelectorTerm(
  { matchExpressions }: Immutable<core.NodeSelectorTerm>,
  at: FieldPath,
): string[] {
  return (matchExpressions ?? []).flatMap(({ key }, index) => {
    const message = DEPRECATED_NODE_LABELS.get(key);
    const path = at.child('matchExpressions').index(index).child('key');
    return message === undefined ? [] : [`${path.toString()}: ${key} is ${message}`];
  });
}

const nullSelector = ({ labelSelector }: Selects, at: FieldPath): string[] =>
  labelSelector === undefined
    ? [`${at.child('labelSelector').toString()}: a null labelSelector results in matching no pod`]
    : [];

function spreadConstraints(
  { topologySpreadConstraints: constraints }: PodSpec,
  at: FieldPath,
): string[] {
  return (constraints ?? []).flatMap((constraint, index) => {
    const { topologyKey } = constraint;
    const message = DEPRECATED_NODE_LABELS.get(topologyKey);
    const path = at.index(index);
    return [
      ...(message === undefined
        ? []
        : [`${path.child('topologyKey').toString()}: ${topologyKey} is ${message}`]),
      ...nullSelector(constraint, path),
    ];
  });
}

function podAffinities({ affinity }: PodSpec, at: FieldPath): string[] {
  if (affinity === undefined) return NONE;
  return (['podAffinity', 'podAntiAffinity'] as const).flatMap((kind) => {
    const {
      requiredDuringSchedulingIgnoredDuringExecution: required = [],
      preferredDuringSchedulingIgnoredDuringExecution: preferred = [],
    } = affinity?.[kind] ?? {};
    const requiredPath = at.child(kind, 'requiredDuringSchedulingIgnoredDuringExecution');
    const preferredPath = at.child(kind, 'preferredDuringSchedulingIgnoredDuringExecution');
    return [
      ...required.flatMap((term, index) => nullSelector(term, requiredPath.index(index))),
      ...preferred.flatMap(({ podAffinityTerm }, index) =>
        nullSelector(podAffinityTerm, preferredPath.index(index).child('podAffinityTerm')),
      ),
    ];
  });
}

const SYSCTLS = 'non-functional in v1.11+; use the "sysctls" field instead';
const DEPRECATED_ANNOTATIONS = Object.entries({
  'scheduler.alpha.kubernetes.io/critical-pod':
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': SYSCTLS,
  'security.alpha.kubernetes.io/unsafe-sysctls': SYSCTLS,
});

function deprecatedAnnotations(annotations: Annotations, at: FieldPath): string[] {
  return DEPRECATED_ANNOTATIONS.filter(([key]) => Object.hasOwn(annotations, key)).map(
    ([key, message]) => `${at.key(key).toString()}: ${message}`,
  );
}

const SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead';
const POD_SECCOMP_ANNOTATION = 'seccomp.security.alpha.kubernetes.io/pod';
const CONTAINER_SECCOMP_ANNOTATION = 'container.seccomp.security.alpha.kubernetes.io/';
const APP_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead';
const APP_ARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

function podSeccompAnnotation(
  { securityContext }: PodSpec,
  annotations: Annotations,
  at: FieldPath,
): string[] {
  const ignored =
    securityContext?.seccompProfile === undefined &&
    Object.hasOwn(annotations, POD_SECCOMP_ANNOTATION);
  return ignored ? [`${at.key(POD_SECCOMP_ANNOTATION).toString()}: ${SECCOMP}`] : [];
}

/** Returns the warnings for annotations of profiles without the fields that replace them. */
function profileAnnotations(
  spec: PodSpec,
  { name, securityContext }: Container,
  annotations: Annotations,
  isTemplate: boolean,
  at: FieldPath,
): string[] {
  const warnings: string[] = [];
  const warn = (key: string, message: string): void => {
    if (Object.hasOwn(annotations, key)) warnings.push(`${at.key(key).toString()}: ${message}`);
  };
  if (securityContext?.seccompProfile === undefined)
    warn(CONTAINER_SECCOMP_ANNOTATION + name, SECCOMP);
  const hasField =
    spec.securityContext?.appArmorProfile !== undefined ||
    securityContext?.appArmorProfile !== undefined;
  if (isTemplate && !hasField) warn(APP_ARMOR_ANNOTATION + name, APP_ARMOR);
  return warnings;
}

const DEPRECATED_VOLUMES: readonly (readonly [keyof core.Volume, string])[] = [
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];
/** The only field whose path differs in upstream's messages. */
const SPELLED: Readonly<Record<string, string>> = { storageos: 'storageOS' };

function volumes({ volumes: list = [] }: PodSpec, at: FieldPath): string[] {
  const warnings = list.flatMap((volume, index) => {
    const path = at.index(index);
    const claim = volume.ephemeral?.volumeClaimTemplate;
    return [
      ...DEPRECATED_VOLUMES.filter(([source]) => volume[source] !== undefined).map(
        ([source, message]) => `${path.child(SPELLED[source] ?? source).toString()}: ${message}`,
      ),
      ...(claim === undefined
        ? []
        : claimWarnings(claim.spec, path.child('ephemeral', 'volumeClaimTemplate', 'spec'))),
    ];
  });
  return [...warnings, ...pathWarnings(list)];
}

function duplicates({ hostAliases, imagePullSecrets }: PodSpec, at: FieldPath): string[] {
  if (hostAliases === undefined && imagePullSecrets === undefined) return NONE;
  const secrets = (imagePullSecrets ?? []).map(({ name }) => name ?? '');
  const empty = secrets.flatMap((name, index) =>
    name === ''
      ? [
          `${at.child('imagePullSecrets').index(index).child('name').toString()}: invalid empty name ""`,
        ]
      : [],
  );
  const aliases = (hostAliases ?? []).map(({ ip }) => ip);
  return [
    ...repeated(aliases, 'ip', at.child('hostAliases')),
    ...repeated(secrets, 'name', at.child('imagePullSecrets')),
    ...empty,
  ];
}

function repeated(values: readonly string[], name: string, at: FieldPath): string[] {
  return values.flatMap((value, index) =>
    values.indexOf(value) < index
      ? [`${at.index(index).child(name).toString()}: duplicate ${name} ${quote(value)}`]
      : [],
  );
}

const BYTES = ['memory', 'ephemeral-storage'];
/** Most quantities of bytes match this and need not be parsed. */
const WHOLE_BYTES = /^\d{1,15}(Ki|Mi|Gi)?$/;

function fractionalBytes(
  list: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
  root: FieldPath,
  ...at: readonly string[]
): string[] {
  if (list === undefined) return NONE;
  return names.flatMap((name) => {
    const amount = list[name];
    if (amount === undefined || WHOLE_BYTES.test(amount)) return [];
    const quantity = parseQuantity(amount).roundUp(MILLI);
    if (quantity.cmp(quantity.roundUp(0)) === 0) return [];
    return [
      `${root
        .child(...at)
        .key(name)
        .toString()}: fractional byte value ${quote(quantity.toString())} is invalid, must be an integer`,
    ];
  });
}

/**
 * Returns warnings for hidden variables. A variable may use an earlier one of its name; otherwise
 * the earlier one is lost.
 */
function hiddenVariables({ env }: Container, container: FieldPath): string[] {
  if (env === undefined || env.length < 2) return NONE;
  const seen = new Set<string>();
  const at = container.child('env');
  return env.flatMap(({ name, value = '', valueFrom }, index) => {
    const first = !seen.has(name);
    seen.add(name);
    const reference = `$(${name})`;
    if (first || (valueFrom === undefined && value !== reference && value.includes(reference)))
      return [];
    const path = at.index(index).toString();
    return [
      `${path}: hides previous definition of ${quote(name)}, which may be dropped when using apply`,
    ];
  });
}

function ports(containers: readonly (readonly [Container, FieldPath])[]): string[] {
  type Port = Immutable<core.ContainerPort>;
  const warnings: string[] = [];
  const portsByNumber = new Map<string, { readonly port: Port; readonly at: FieldPath }[]>();
  for (const [container, path] of containers) {
    (container.ports ?? []).forEach((port, index) => {
      const at = path.child('ports').index(index);
      const { name = '', hostIP = '', hostPort = 0, containerPort, protocol = '' } = port;
      if (hostIP !== '' && hostPort === 0) {
        const shown =
          `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} ` +
          `Protocol:${protocol} HostIP:${hostIP}}`;
        warnings.push(`${at.toString()}: hostIP set without hostPort: ${shown}`);
      }
      const key = `${containerPort}/${protocol}`;
      const others = portsByNumber.get(key) ?? [];
      for (const other of others) {
        const clash = portClash(port, other.port);
        if (clash !== undefined)
          warnings.push(`${at.toString()}: ${clash} port definition with ${other.at.toString()}`);
      }
      portsByNumber.set(key, [...others, { port, at }]);
    });
  }
  return [...warnings, ...portNames(containers)];
}

/** Returns warnings for names that ports of several containers have. */
function portNames(containers: readonly (readonly [Container, FieldPath])[]): string[] {
  const warnings: string[] = [];
  const firstOf = new Map<string, FieldPath>();
  for (const [container, path] of containers) {
    (container.ports ?? []).forEach(({ name = '' }, index) => {
      if (name === '') return;
      const at = path.child('ports').index(index);
      const first = firstOf.get(name);
      if (first === undefined) firstOf.set(name, at);
      else
        warnings.push(
          `${at.toString()}: duplicate port name ${quote(name)} with ${first.toString()}, ` +
            `services and probes that select ports by name will use ${first.toString()}`,
        );
    });
  }
  return warnings;
}

/** Returns the conflict between two definitions of one port. */
function portClash(
  a: Immutable<core.ContainerPort>,
  b: Immutable<core.ContainerPort>,
): string | undefined {
  const [portA, portB] = [a.hostPort ?? 0, b.hostPort ?? 0];
  const [ipA, ipB] = [a.hostIP ?? '', b.hostIP ?? ''];
  if (portA === portB && ipA === ipB) return 'duplicate';
  if (portA === 0 || portB === 0) return 'overlapping';
  return portA === portB && (ipA === '' || ipB === '') ? 'dangerously ambiguous' : undefined;
}
