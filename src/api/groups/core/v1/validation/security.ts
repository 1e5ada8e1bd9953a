// Validation of security contexts.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
} from './types.ts';
import { allContainers, invalidEach, localDescendingPath, oneOf, optionalOneOf } from './common.ts';
import { windowsOptions } from './windows.ts';

const SYSCTL_SEGMENT = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SYSCTL_SOURCE = `^(${SYSCTL_SEGMENT}[\\./])*${SYSCTL_SEGMENT}$`;
const SYSCTL = new RegExp(SYSCTL_SOURCE);
const SYSCTL_MAX_LENGTH = 253;
const PROFILE_TYPES = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const MAX_PROFILE_LENGTH = 4095;

export function securityContext(
  context: SecurityContext | undefined,
  spec: PodSpec,
  at: FieldPath,
): FieldErrorList {
  if (context === undefined) return [];
  const errors: FieldErrorList = [
    ...id(context.runAsUser, at.child('runAsUser')),
    ...id(context.runAsGroup, at.child('runAsGroup')),
    ...optionalOneOf(context.procMount, ['Default', 'Unmasked'], at.child('procMount')),
  ];
  if (context.procMount === 'Unmasked' && spec.hostUsers !== false) {
    errors.push(
      field.invalid(
        at.child('procMount'),
        context.procMount,
        '`hostUsers` must be false to use `Unmasked`',
      ),
    );
  }
  errors.push(...seccompProfile(context.seccompProfile, at.child('seccompProfile')));
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged === true) {
      errors.push(
        field.invalid(
          at,
          context,
          'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
        ),
      );
    }
    for (const capability of context.capabilities?.add ?? []) {
      if (capability !== 'CAP_SYS_ADMIN') continue;
      const message =
        'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN';
      errors.push(field.invalid(at, context, message));
    }
  }
  errors.push(
    ...windowsOptions(context.windowsOptions, at.child('windowsOptions')),
    ...appArmorProfile(context.appArmorProfile, at.child('appArmorProfile')),
  );
  return errors;
}

/** Validates an ID: users and groups have the same range. */
function id(value: number | undefined, at: FieldPath): FieldErrorList {
  return value === undefined ? [] : invalidEach(at, value, validation.isValidUserID(value));
}

function seccompProfile(profile: SeccompProfile | undefined, at: FieldPath): FieldErrorList {
  if (profile === undefined) return [];
  const { type = '', localhostProfile } = profile;
  const errors =
    type === ''
      ? [field.required(at.child('type'), 'type is required when seccompProfile is set')]
      : oneOf(type, PROFILE_TYPES, at.child('type'));
  const path = at.child('localhostProfile');
  if (type === 'Localhost') {
    if (localhostProfile === undefined)
      errors.push(field.required(path, 'must be set when seccomp type is Localhost'));
    else errors.push(...localDescendingPath(localhostProfile, path));
  } else if (localhostProfile !== undefined) {
    errors.push(field.invalid(path, profile, 'can only be set when seccomp type is Localhost'));
  }
  return errors;
}

export function appArmorProfile(
  profile: AppArmorProfile | undefined,
  at: FieldPath,
): FieldErrorList {
  if (profile === undefined) return [];
  const { type, localhostProfile } = profile;
  const path = at.child('localhostProfile');
  switch (type as string | undefined) {
    case 'Localhost': {
      const missing = 'must be set when AppArmor type is Localhost';
      if (localhostProfile === undefined) return [field.required(path, missing)];
      const errors: FieldErrorList = [];
      if (localhostProfile !== localhostProfile.trim()) {
        errors.push(field.invalid(path, localhostProfile, 'must not be padded with whitespace'));
      } else if (localhostProfile === '') errors.push(field.required(path, missing));
      if (Buffer.byteLength(localhostProfile) > MAX_PROFILE_LENGTH) {
        errors.push(field.tooLong(path, localhostProfile, MAX_PROFILE_LENGTH));
      }
      return errors;
    }
    case 'RuntimeDefault':
    case 'Unconfined':
      if (localhostProfile === undefined) return [];
      return [
        field.invalid(path, localhostProfile, 'can only be set when AppArmor type is Localhost'),
      ];
    case undefined:
    case '':
      return [field.required(at.child('type'), 'type is required when appArmorProfile is set')];
    default:
      return [field.notSupported(at.child('type'), type, PROFILE_TYPES)];
  }
}

/**
 * Validates host ports: on the host's network a container's port is the host's. A template may omit
 * the host's port.
 */
export function hostNetworkPorts(spec: PodSpec, isPod: boolean, at: FieldPath): FieldErrorList {
  if (spec.hostNetwork !== true) return [];
  return spec.containers.flatMap((container, index) =>
    (container.ports ?? []).flatMap(({ hostPort = 0, containerPort }, portIndex) => {
      if (hostPort === containerPort || (!isPod && hostPort === 0)) return [];
      const path = at
        .child('containers')
        .index(index)
        .child('ports')
        .index(portIndex)
        .child('hostPort');
      return [
        field.invalid(path, hostPort, 'must match `containerPort` when `hostNetwork` is true'),
      ];
    }),
  );
}

/** Validates that a pod with its own user namespace does not use other namespaces of the host. */
export function hostUsers(spec: PodSpec, at: FieldPath): FieldErrorList {
  if (spec.hostUsers !== false) return [];
  const clashes = [
    ['hostNetwork', spec.hostNetwork],
    ['HostPID', spec.hostPID],
    ['HostIPC', spec.hostIPC],
  ] as const;
  const why = 'when `hostUsers` is false';
  return [
    ...clashes.flatMap(([name, set]) =>
      set === true ? [field.forbidden(at.child(name), why)] : [],
    ),
    // The owner of devices cannot be mapped.
    ...allContainers(spec, at).flatMap(({ container: { volumeDevices = [] }, at: path }) =>
      volumeDevices.length === 0 ? [] : [field.forbidden(path.child('volumeDevices'), why)],
    ),
  ];
}

/**
 * Validates the security context. `anySELinuxPolicy`: accept policies that require a disabled
 * feature, because the spec had one before.
 */
export function podSecurityContext(
  spec: PodSpec,
  at: FieldPath,
  anySELinuxPolicy: boolean,
): FieldErrorList {
  const context = spec.securityContext ?? {};
  const errors: FieldErrorList = [
    ...id(context.fsGroup, at.child('fsGroup')),
    ...id(context.runAsUser, at.child('runAsUser')),
    ...id(context.runAsGroup, at.child('runAsGroup')),
    ...(context.supplementalGroups ?? []).flatMap((group, index) =>
      id(group, at.child('supplementalGroups').index(index)),
    ),
  ];
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const message = 'ShareProcessNamespace and HostPID cannot both be enabled';
    errors.push(field.invalid(at.child('shareProcessNamespace'), true, message));
  }
  errors.push(
    ...sysctls(context, spec, at.child('sysctls')),
    ...optionalOneOf(
      context.fsGroupChangePolicy,
      ['Always', 'OnRootMismatch'],
      at.child('fsGroupChangePolicy'),
    ),
    ...seccompProfile(context.seccompProfile, at.child('seccompProfile')),
    ...windowsOptions(context.windowsOptions, at.child('windowsOptions')),
    ...appArmorProfile(context.appArmorProfile, at.child('appArmorProfile')),
    ...optionalOneOf(
      context.supplementalGroupsPolicy,
      ['Merge', 'Strict'],
      at.child('supplementalGroupsPolicy'),
    ),
    ...optionalOneOf(
      context.seLinuxChangePolicy,
      anySELinuxPolicy ? ['MountOption', 'Recursive'] : ['Recursive'],
      at.child('seLinuxChangePolicy'),
    ),
  );
  return errors;
}

/** Kernel parameters by their namespace. */
const IPC_SYSCTLS = new Set(['kernel.sem']);
const IPC_SYSCTL_PREFIXES = ['kernel.shm', 'kernel.msg', 'fs.mqueue.'];

function sysctls(context: PodSecurityContext, spec: PodSpec, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const names = new Set<string>();
  (context.sysctls ?? []).forEach(({ name }, index) => {
    const path = at.index(index).child('name');
    if (name === '') errors.push(field.required(path));
    else if (name.length > SYSCTL_MAX_LENGTH || !SYSCTL.test(name)) {
      const message = `must have at most ${SYSCTL_MAX_LENGTH} characters and match regex ${SYSCTL_SOURCE}`;
      errors.push(field.invalid(path, name, message));
    } else if (names.has(name)) errors.push(field.duplicate(path, name));
    names.add(name);
    const dotted = withDots(name);
    if (spec.hostNetwork === true && dotted.startsWith('net.')) {
      errors.push(field.invalid(path, name, "may not be specified when 'hostNetwork' is true"));
    }
    if (
      spec.hostIPC === true &&
      (IPC_SYSCTLS.has(dotted) || IPC_SYSCTL_PREFIXES.some((prefix) => dotted.startsWith(prefix)))
    ) {
      errors.push(field.invalid(path, name, "may not be specified when 'hostIPC' is true"));
    }
  });
  return errors;
}

/**
 * Returns the name with dots as separators, from the form with slashes as separators (and dots
 * within parts).
 */
function withDots(name: string): string {
  const separator = /[./]/.exec(name)?.[0];
  return separator !== '/' ? name : name.replace(/[./]/g, (found) => (found === '/' ? '.' : '/'));
}
