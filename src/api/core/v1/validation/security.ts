// Rules of security contexts.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { AppArmorProfile, PodSpec, SeccompProfile, SecurityContext } from './types.ts';
import { invalidEach, localDescendingPath, oneOf } from './common.ts';

const SYSCTL_SEGMENT = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SYSCTL = new RegExp(`^(${SYSCTL_SEGMENT}[\\./])*${SYSCTL_SEGMENT}$`);
const SYSCTL_MAX_LENGTH = 253;

export function securityContext(context: SecurityContext | undefined, spec: PodSpec, at: FieldPath): FieldErrorList {
  if (context === undefined) return [];
  const errors: FieldErrorList = [
    ...(context.runAsUser !== undefined
      ? invalidEach(at.child('runAsUser'), context.runAsUser, validation.isValidUserID(context.runAsUser))
      : []),
    ...(context.runAsGroup !== undefined
      ? invalidEach(at.child('runAsGroup'), context.runAsGroup, validation.isValidGroupID(context.runAsGroup))
      : []),
    ...(context.procMount !== undefined ? oneOf(context.procMount, ['Default', 'Unmasked'], at.child('procMount')) : []),
    ...seccompProfile(context.seccompProfile, at.child('seccompProfile')),
    ...appArmorProfile(context.appArmorProfile, at.child('appArmorProfile')),
  ];
  if (context.procMount === 'Unmasked' && spec.hostUsers !== false) {
    errors.push(field.invalid(at.child('procMount'), context.procMount, '`hostUsers` must be false to use `Unmasked`'));
  }
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged === true)
      errors.push(field.invalid(at, context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'));
    if (context.capabilities?.add?.includes('SYS_ADMIN') || context.capabilities?.add?.includes('CAP_SYS_ADMIN')) {
      errors.push(
        field.invalid(at, context, 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN'),
      );
    }
  }
  return errors;
}

export function seccompProfile(profile: SeccompProfile | undefined, at: FieldPath): FieldErrorList {
  if (profile === undefined) return [];
  const errors =
    profile.type === undefined
      ? [field.required(at.child('type'), 'type is required when seccompProfile is set')]
      : oneOf(profile.type, ['Localhost', 'RuntimeDefault', 'Unconfined'], at.child('type'));
  const path = at.child('localhostProfile');
  if (profile.type === 'Localhost') {
    if (profile.localhostProfile === undefined) errors.push(field.required(path, 'must be set when seccomp type is Localhost'));
    else errors.push(...localDescendingPath(profile.localhostProfile, path));
  } else if (profile.localhostProfile !== undefined) {
    errors.push(field.invalid(path, profile.localhostProfile, 'can only be set when seccomp type is Localhost'));
  }
  return errors;
}

export function appArmorProfile(profile: AppArmorProfile | undefined, at: FieldPath): FieldErrorList {
  if (profile === undefined) return [];
  const errors =
    profile.type === undefined
      ? [field.required(at.child('type'), 'type is required when appArmorProfile is set')]
      : oneOf(profile.type, ['Localhost', 'RuntimeDefault', 'Unconfined'], at.child('type'));
  const path = at.child('localhostProfile');
  if (profile.type === 'Localhost') {
    if ((profile.localhostProfile ?? '').trim() === '')
      errors.push(field.required(path, 'must be set when AppArmor type is Localhost'));
  } else if (profile.localhostProfile !== undefined) {
    errors.push(field.invalid(path, profile.localhostProfile, 'can only be set when AppArmor type is Localhost'));
  }
  return errors;
}

export function podSecurityContext(spec: PodSpec, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const context = spec.securityContext;
  if (spec.hostNetwork === true) {
    for (const [list, name] of [
      [spec.initContainers, 'initContainers'],
      [spec.containers, 'containers'],
    ] as const) {
      (list ?? []).forEach((container, index) => {
        (container.ports ?? []).forEach((port, portIndex) => {
          if (port.hostPort !== port.containerPort) {
            errors.push(
              field.invalid(
                new field.FieldPath('spec', name).index(index).child('ports').index(portIndex).child('containerPort'),
                port.containerPort,
                'must match `hostPort` when `hostNetwork` is true',
              ),
            );
          }
        });
      });
    }
  }
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    errors.push(
      field.invalid(
        new field.FieldPath('spec', 'shareProcessNamespace'),
        true,
        'ShareProcessNamespace and HostPID cannot both be enabled',
      ),
    );
  }
  if (spec.hostUsers === false) {
    for (const name of ['hostNetwork', 'hostPID', 'hostIPC'] as const) {
      if (spec[name] === true) errors.push(field.forbidden(at.child(name), 'when `hostUsers` is false'));
    }
  }
  if (context === undefined) return errors;
  for (const name of ['fsGroup', 'runAsGroup'] as const) {
    const value = context[name];
    if (value !== undefined) errors.push(...invalidEach(at.child(name), value, validation.isValidGroupID(value)));
  }
  if (context.runAsUser !== undefined)
    errors.push(...invalidEach(at.child('runAsUser'), context.runAsUser, validation.isValidUserID(context.runAsUser)));
  (context.supplementalGroups ?? []).forEach((group, index) => {
    errors.push(...invalidEach(at.child('supplementalGroups').index(index), group, validation.isValidGroupID(group)));
  });
  const names = new Set<string>();
  (context.sysctls ?? []).forEach((sysctl, index) => {
    const path = at.child('sysctls').index(index).child('name');
    if (sysctl.name === '') errors.push(field.required(path));
    else if (sysctl.name.length > SYSCTL_MAX_LENGTH || !SYSCTL.test(sysctl.name)) {
      errors.push(
        field.invalid(path, sysctl.name, `must have at most ${SYSCTL_MAX_LENGTH} characters and match regex ${SYSCTL.source}`),
      );
    } else if (names.has(sysctl.name)) errors.push(field.duplicate(path, sysctl.name));
    names.add(sysctl.name);
  });
  if (context.fsGroupChangePolicy !== undefined)
    errors.push(...oneOf(context.fsGroupChangePolicy, ['Always', 'OnRootMismatch'], at.child('fsGroupChangePolicy')));
  if (context.supplementalGroupsPolicy !== undefined)
    errors.push(...oneOf(context.supplementalGroupsPolicy, ['Merge', 'Strict'], at.child('supplementalGroupsPolicy')));
  errors.push(
    ...seccompProfile(context.seccompProfile, at.child('seccompProfile')),
    ...appArmorProfile(context.appArmorProfile, at.child('appArmorProfile')),
  );
  return errors;
}
