// Validation of a pod's spec and of pod templates.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { PodSpec, PodTemplateSpec } from './types.ts';
import { annotations, podAnnotations } from './annotations.ts';
import { profilesMatch } from './profile-annotations.ts';
import { resourceClaimNames, resourceClaims } from './claims.ts';
import { allContainers, invalidEach, MAX_INT32, oneOf } from './common.ts';
import { containers, ephemeralContainers, initContainers, type PodFacts } from './containers.ts';
import { dnsConfig, hostAliases } from './dns.ts';
import { overhead, podResources } from './resources.ts';
import { affinity, schedulingGates, tolerations, topologySpreadConstraints } from './scheduling.ts';
import { hostNetworkPorts, hostUsers, podSecurityContext } from './security.ts';
import { volumes, type VolumeOwner } from './volumes.ts';
import { hostProcesses, operatingSystem } from './windows.ts';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const PREEMPTION_POLICIES = ['PreemptLowerPriority', 'Never'];
const MAX_HOSTNAME_LENGTH = 64;

const IN_TEMPLATE: VolumeOwner = { podName: '', isPod: false, isMirror: false };

export function podSpec(
  spec: PodSpec,
  at: FieldPath,
  owner: VolumeOwner = IN_TEMPLATE,
): FieldErrorList {
  const validatedVolumes = volumes(spec.volumes, owner, at.child('volumes'));
  const claimNames = resourceClaimNames(spec.resourceClaims);
  const pod: PodFacts = {
    volumes: validatedVolumes.volumes,
    claimNames,
    spec,
    restartingInit: owner.restartingInit === true,
  };
  const init = spec.initContainers ?? [];
  return [
    ...(spec.terminationGracePeriodSeconds === undefined
      ? [field.required(at.child('terminationGracePeriodSeconds'))]
      : []),
    ...validatedVolumes.errors,
    ...resourceClaims(spec.resourceClaims, owner, at.child('resourceClaims')),
    ...containers(spec.containers, pod, at.child('containers')),
    ...initContainers(init, spec.containers, pod, at.child('initContainers')),
    ...ephemeralContainers(
      spec.ephemeralContainers ?? [],
      [...spec.containers, ...init],
      pod,
      at.child('ephemeralContainers'),
    ),
    ...podResources(spec, at.child('resources'), claimNames),
    ...hostNetworkPorts(spec, owner.isPod, at),
    ...oneOf(spec.restartPolicy, RESTART_POLICIES, at.child('restartPolicy')),
    ...oneOf(spec.dnsPolicy, DNS_POLICIES, at.child('dnsPolicy')),
    ...validation.validateLabels(spec.nodeSelector, at.child('nodeSelector')),
    ...podSecurityContext(spec, at.child('securityContext'), owner.anySELinuxPolicy === true),
    ...affinity(spec.affinity, at.child('affinity'), { anyValues: owner.anyNodeValues === true }),
    ...dnsConfig(spec.dnsConfig, spec.dnsPolicy, at.child('dnsConfig')),
    ...(spec.readinessGates ?? []).flatMap(({ conditionType }, index) =>
      invalidEach(
        at.child('readinessGates').index(index).child('conditionType'),
        conditionType,
        validation.isQualifiedName(conditionType),
      ),
    ),
    ...schedulingGates(spec.schedulingGates, at.child('schedulingGates')),
    ...topologySpreadConstraints(
      spec.topologySpreadConstraints,
      at.child('topologySpreadConstraints'),
    ),
    ...hostProcesses(spec, at),
    ...hostUsers(spec, at),
    ...hostnameOverride(spec, at),
    ...named(spec, 'serviceAccountName', validation.isDNS1123Subdomain, at),
    ...named(spec, 'nodeName', validation.isDNS1123Subdomain, at),
    ...activeDeadline(spec.activeDeadlineSeconds, at.child('activeDeadlineSeconds')),
    ...named(spec, 'hostname', validation.isDNS1123Label, at),
    ...named(spec, 'subdomain', validation.isDNS1123Label, at),
    ...tolerations(spec.tolerations, at.child('tolerations')),
    ...hostAliases(spec.hostAliases, at.child('hostAliases')),
    ...named(spec, 'priorityClassName', validation.isDNS1123Subdomain, at),
    ...(spec.runtimeClassName === undefined
      ? []
      : invalidEach(
          at.child('runtimeClassName'),
          spec.runtimeClassName,
          validation.isDNS1123Subdomain(spec.runtimeClassName),
        )),
    ...(spec.preemptionPolicy === undefined
      ? []
      : oneOf(spec.preemptionPolicy, PREEMPTION_POLICIES, at.child('preemptionPolicy'))),
    ...overhead(spec.overhead, at.child('overhead')),
    ...operatingSystem(spec, at),
    ...fileKeyVolumes(spec, at),
  ];
}

type NamedField =
  | 'serviceAccountName'
  | 'nodeName'
  | 'hostname'
  | 'subdomain'
  | 'priorityClassName';

function named(
  spec: PodSpec,
  name: NamedField,
  check: (value: string) => readonly string[],
  at: FieldPath,
): FieldErrorList {
  const value = spec[name] ?? '';
  return value === '' ? [] : invalidEach(at.child(name), value, check(value));
}

function activeDeadline(seconds: number | undefined, at: FieldPath): FieldErrorList {
  return seconds === undefined
    ? []
    : invalidEach(at, seconds, validation.isInRange(seconds, 1, MAX_INT32));
}

function hostnameOverride(spec: PodSpec, at: FieldPath): FieldErrorList {
  const { hostnameOverride: name } = spec;
  if (name === undefined) return [];
  const path = at.child('hostnameOverride');
  const errors: FieldErrorList = [];
  for (const other of ['setHostnameAsFQDN', 'hostNetwork'] as const) {
    if (spec[other] === true)
      errors.push(field.forbidden(path, `may not be specified when ${other} is true`));
  }
  if (name.length > MAX_HOSTNAME_LENGTH)
    errors.push(field.tooLong(path, name, MAX_HOSTNAME_LENGTH));
  return [...errors, ...invalidEach(path, name, validation.isDNS1123Subdomain(name))];
}

/** Validates the volumes of variables from files: init containers write them into an emptyDir. */
function fileKeyVolumes(spec: PodSpec, at: FieldPath): FieldErrorList {
  const volumesByName = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]));
  return allContainers(spec, at).flatMap(({ container, at: path }) =>
    (container.env ?? []).flatMap(({ valueFrom }, index) => {
      if (valueFrom?.fileKeyRef === undefined) return [];
      const { volumeName } = valueFrom.fileKeyRef;
      const where = path.child('env').index(index).child('valueFrom', 'fileKeyRef', 'volumeName');
      const volume = volumesByName.get(volumeName);
      if (volume === undefined) return [field.notFound(where, volumeName)];
      if (volume.emptyDir !== undefined) return [];
      return [field.invalid(where, volumeName, 'referenced volume must be of type emptyDir')];
    }),
  );
}

/** Returns exceptions for values in a stored spec that a new one must not have. */
export function storedExceptions(
  old: PodSpec,
): Pick<VolumeOwner, 'anySELinuxPolicy' | 'restartingInit'> {
  return {
    anySELinuxPolicy: old.securityContext?.seLinuxChangePolicy !== undefined,
    restartingInit: (old.initContainers ?? []).some(
      ({ restartPolicy, resizePolicy }) =>
        restartPolicy !== 'Always' &&
        (resizePolicy ?? []).some((policy) => policy.restartPolicy === 'RestartContainer'),
    ),
  };
}

/** Validates the template of a controller that keeps its pods running. */
export function runningPodTemplate(
  template: PodTemplateSpec | undefined,
  kindName: string,
  at: FieldPath,
  old?: PodTemplateSpec,
): FieldErrorList {
  if (template === undefined) return [field.required(at)];
  const errors = podTemplate(template, at, old);
  const { restartPolicy, activeDeadlineSeconds } = template.spec;
  if (restartPolicy !== 'Always') {
    errors.push(field.notSupported(at.child('spec', 'restartPolicy'), restartPolicy, ['Always']));
  }
  if (activeDeadlineSeconds !== undefined) {
    const message = `activeDeadlineSeconds in ${kindName} is not Supported`;
    errors.push(field.forbidden(at.child('spec', 'activeDeadlineSeconds'), message));
  }
  return errors;
}

/** Validates a template. `old`: absent on create. */
export function podTemplate(
  { metadata, spec }: PodTemplateSpec,
  at: FieldPath,
  old?: PodTemplateSpec,
): FieldErrorList {
  const errors = [
    ...validation.validateLabels(metadata.labels, at.child('labels')),
    ...annotations(metadata.annotations, at.child('annotations')),
    ...podAnnotations(metadata.annotations, spec, at.child('annotations')),
    ...podSpec(
      spec,
      at.child('spec'),
      old === undefined ? IN_TEMPLATE : { ...IN_TEMPLATE, ...storedExceptions(old.spec) },
    ),
    ...profilesMatch(metadata.annotations, spec, at.child('spec')),
  ];
  if ((spec.ephemeralContainers ?? []).length > 0) {
    errors.push(
      field.forbidden(
        at.child('spec', 'ephemeralContainers'),
        'ephemeral containers not allowed in pod template',
      ),
    );
  }
  return errors;
}
