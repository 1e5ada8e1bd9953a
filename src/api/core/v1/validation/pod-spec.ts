// Rules of a pod's spec and of pod templates.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { PodDNSConfig, PodResourceClaim, PodSpec, PodTemplateSpec } from './types.ts';
import { invalidEach, oneOf } from './common.ts';
import { containers, ephemeralContainers, initContainers, type PodFacts } from './containers.ts';
import { resourceList, resourceRequirements } from './resources.ts';
import { affinity, schedulingGates, tolerations, topologySpreadConstraints } from './scheduling.ts';
import { podSecurityContext } from './security.ts';
import { volumes } from './volumes.ts';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const DNS_POLICIES = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'];
const MAX_INT32 = 2 ** 31 - 1;

export function podSpec(spec: PodSpec, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const claims = resourceClaims(spec.resourceClaims, at.child('resourceClaims'));
  const validatedVolumes = volumes(spec.volumes, at.child('volumes'));
  const pod: PodFacts = {
    volumeNames: validatedVolumes.names,
    claimNames: claims.names,
    graceSeconds: spec.terminationGracePeriodSeconds,
    spec,
  };
  const init = spec.initContainers ?? [];
  errors.push(
    ...validatedVolumes.errors,
    ...claims.errors,
    ...containers(spec.containers, pod, at.child('containers')),
    ...initContainers(init, spec.containers, pod, at.child('initContainers')),
    ...ephemeralContainers(spec.ephemeralContainers ?? [], [...spec.containers, ...init], pod, at.child('ephemeralContainers')),
    ...oneOf(spec.restartPolicy, RESTART_POLICIES, at.child('restartPolicy')),
    ...oneOf(spec.dnsPolicy, DNS_POLICIES, at.child('dnsPolicy')),
    ...validation.validateLabels(spec.nodeSelector, at.child('nodeSelector')),
    ...podSecurityContext(spec, at.child('securityContext')),
    ...affinity(spec.affinity, at.child('affinity')),
    ...dnsConfig(spec.dnsConfig, spec.dnsPolicy, at.child('dnsConfig')),
    ...tolerations(spec.tolerations, at.child('tolerations')),
    ...topologySpreadConstraints(spec.topologySpreadConstraints, at.child('topologySpreadConstraints')),
    ...schedulingGates(spec.schedulingGates, at.child('schedulingGates')),
    ...resourceList(spec.overhead, at.child('overhead')),
  );
  if (spec.resources !== undefined) errors.push(...resourceRequirements(spec.resources, at.child('resources'), claims.names));
  (spec.readinessGates ?? []).forEach((gate, index) => {
    errors.push(
      ...validation.validateLabelName(gate.conditionType, at.child('readinessGates').index(index).child('conditionType')),
    );
  });
  (spec.imagePullSecrets ?? []).forEach((secret, index) => {
    if ((secret.name ?? '') === '') errors.push(field.required(at.child('imagePullSecrets').index(index).child('name')));
  });
  for (const [name, check] of [
    ['serviceAccountName', validation.isDNS1123Subdomain],
    ['nodeName', validation.isDNS1123Subdomain],
    ['priorityClassName', validation.isDNS1123Subdomain],
    ['runtimeClassName', validation.isDNS1123Subdomain],
    ['schedulerName', validation.isDNS1123Subdomain],
    ['hostname', validation.isDNS1123Label],
    ['subdomain', validation.isDNS1123Label],
  ] as const) {
    const value = spec[name];
    if (value !== undefined && value !== '') errors.push(...invalidEach(at.child(name), value, check(value)));
  }
  if (spec.activeDeadlineSeconds !== undefined && (spec.activeDeadlineSeconds < 1 || spec.activeDeadlineSeconds > MAX_INT32)) {
    errors.push(
      ...invalidEach(
        at.child('activeDeadlineSeconds'),
        spec.activeDeadlineSeconds,
        validation.isInRange(spec.activeDeadlineSeconds, 1, MAX_INT32),
      ),
    );
  }
  (spec.hostAliases ?? []).forEach((alias, index) => {
    const path = at.child('hostAliases').index(index);
    errors.push(...invalidEach(path.child('ip'), alias.ip, validation.isValidIP(alias.ip)));
    (alias.hostnames ?? []).forEach((name, nameIndex) => {
      errors.push(...invalidEach(path.child('hostnames').index(nameIndex), name, validation.isDNS1123Subdomain(name)));
    });
  });
  if (spec.preemptionPolicy !== undefined)
    errors.push(...oneOf(spec.preemptionPolicy, ['Never', 'PreemptLowerPriority'], at.child('preemptionPolicy')));
  if (spec.os !== undefined) {
    if (spec.os.name === '') errors.push(field.required(at.child('os', 'name'), 'cannot be empty'));
    else errors.push(...oneOf(spec.os.name, ['linux', 'windows'], at.child('os', 'name')));
  }
  return errors;
}

/** The template of a controller that keeps its pods running. */
export function runningPodTemplate(
  template: PodTemplateSpec | undefined,
  kindName: string,
  replicas: number,
  at: FieldPath,
): FieldErrorList {
  if (template === undefined) return [field.required(at)];
  const errors = podTemplate(template, at);
  // Pods of one claim on a disk that only one may write to would fight over it.
  if (replicas > 1) {
    (template.spec.volumes ?? []).forEach((volume, index) => {
      if (volume.gcePersistentDisk !== undefined && volume.gcePersistentDisk.readOnly !== true) {
        errors.push(
          field.invalid(
            at.child('spec', 'volumes').index(index).child('gcePersistentDisk', 'readOnly'),
            false,
            'must be readOnly for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only',
          ),
        );
      }
    });
  }
  if (template.spec.restartPolicy !== 'Always')
    errors.push(field.notSupported(at.child('spec', 'restartPolicy'), template.spec.restartPolicy, ['Always']));
  if (template.spec.activeDeadlineSeconds !== undefined) {
    errors.push(
      field.forbidden(at.child('spec', 'activeDeadlineSeconds'), `activeDeadlineSeconds in ${kindName} is not Supported`),
    );
  }
  return errors;
}

export function podTemplate(template: PodTemplateSpec, at: FieldPath): FieldErrorList {
  const errors = [
    ...validation.validateLabels(template.metadata?.labels, at.child('labels')),
    ...annotations(template.metadata?.annotations, at.child('annotations')),
    ...podSpec(template.spec, at.child('spec')),
  ];
  if ((template.spec.ephemeralContainers ?? []).length > 0) {
    errors.push(field.forbidden(at.child('spec', 'ephemeralContainers'), 'ephemeral containers not allowed in pod template'));
  }
  return errors;
}

const TOTAL_ANNOTATION_SIZE_LIMIT = 256 * 1024;

export function annotations(map: Readonly<Record<string, string>> | undefined, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  let size = 0;
  for (const [key, value] of Object.entries(map ?? {})) {
    // Upper case is allowed in the key, for compatibility.
    errors.push(...invalidEach(at, key, validation.isQualifiedName(key.toLowerCase())));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > TOTAL_ANNOTATION_SIZE_LIMIT) errors.push(field.tooLong(at, '', TOTAL_ANNOTATION_SIZE_LIMIT));
  return errors;
}

function resourceClaims(
  list: readonly PodResourceClaim[] | undefined,
  at: FieldPath,
): { errors: FieldErrorList; names: Set<string> } {
  const errors: FieldErrorList = [];
  const names = new Set<string>();
  (list ?? []).forEach((claim, index) => {
    const path = at.index(index);
    if (claim.name === '') errors.push(field.required(path.child('name')));
    else if (names.has(claim.name)) errors.push(field.duplicate(path.child('name'), claim.name));
    else {
      errors.push(...invalidEach(path.child('name'), claim.name, validation.isDNS1123Label(claim.name)));
      names.add(claim.name);
    }
    const both = claim.resourceClaimName !== undefined && claim.resourceClaimTemplateName !== undefined;
    const neither = claim.resourceClaimName === undefined && claim.resourceClaimTemplateName === undefined;
    if (both)
      errors.push(
        field.invalid(path, claim, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'),
      );
    if (neither) errors.push(field.invalid(path, claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'));
  });
  return { errors, names };
}

const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;

function dnsConfig(config: PodDNSConfig | undefined, policy: string | undefined, at: FieldPath): FieldErrorList {
  if (config === undefined) {
    return policy === 'None' ? [field.required(at, 'must provide `dnsConfig` when `dnsPolicy` is None')] : [];
  }
  const errors: FieldErrorList = [];
  const nameservers = config.nameservers ?? [];
  const searches = config.searches ?? [];
  if (policy === 'None' && nameservers.length === 0) {
    errors.push(field.required(at.child('nameservers'), 'must provide at least one DNS nameserver when `dnsPolicy` is None'));
  }
  if (nameservers.length > MAX_NAMESERVERS) {
    errors.push(field.invalid(at.child('nameservers'), nameservers, `must not have more than ${MAX_NAMESERVERS} nameservers`));
  }
  nameservers.forEach((address, index) =>
    errors.push(...invalidEach(at.child('nameservers').index(index), address, validation.isValidIP(address))),
  );
  if (searches.length > MAX_SEARCHES)
    errors.push(field.invalid(at.child('searches'), searches, `must not have more than ${MAX_SEARCHES} search paths`));
  if (searches.join(' ').length > MAX_SEARCH_CHARACTERS) {
    errors.push(
      field.invalid(
        at.child('searches'),
        searches,
        `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`,
      ),
    );
  }
  searches.forEach((search, index) => {
    if (search === '.') return;
    const name = search.endsWith('.') ? search.slice(0, -1) : search;
    errors.push(...invalidEach(at.child('searches').index(index), search, validation.isDNS1123SubdomainWithUnderscore(name)));
  });
  (config.options ?? []).forEach((option, index) => {
    if ((option.name ?? '') === '') errors.push(field.required(at.child('options').index(index), 'must not be empty'));
  });
  return errors;
}
