// Validation of pods on Windows, and of fields for Windows only.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { PodSpec, WindowsSecurityContextOptions } from './types.ts';
import { allContainers, invalidEach } from './common.ts';

const MAX_CREDENTIAL_SPEC_KIB = 64;
const MAX_DOMAIN_LENGTH = 256;
const MAX_USER_LENGTH = 104;
const CONTROL_CHARACTER = /\p{Cc}/u;
const NET_BIOS_DOMAIN = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const DNS_DOMAIN =
  /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

export function windowsOptions(
  options: WindowsSecurityContextOptions | undefined,
  at: FieldPath,
): FieldErrorList {
  const {
    gmsaCredentialSpecName: name,
    gmsaCredentialSpec: spec,
    runAsUserName: user,
  } = options ?? {};
  const errors: FieldErrorList = [];
  if (name !== undefined) {
    errors.push(
      ...invalidEach(at.child('gmsaCredentialSpecName'), name, validation.isDNS1123Subdomain(name)),
    );
  }
  if (spec === '') {
    errors.push(
      field.invalid(
        at.child('gmsaCredentialSpec'),
        spec,
        'gmsaCredentialSpec cannot be an empty string',
      ),
    );
  } else if (spec !== undefined && Buffer.byteLength(spec) > MAX_CREDENTIAL_SPEC_KIB * 1024) {
    const message = `gmsaCredentialSpec size must be under ${MAX_CREDENTIAL_SPEC_KIB} KiB`;
    errors.push(field.invalid(at.child('gmsaCredentialSpec'), spec, message));
  }
  if (user !== undefined)
    errors.push(...invalidEach(at.child('runAsUserName'), user, userProblems(user)));
  return errors;
}

/** Returns the problems of 'DOMAIN\user' or 'user'. */
function userProblems(name: string): string[] {
  if (name === '') return ['runAsUserName cannot be an empty string'];
  if (CONTROL_CHARACTER.test(name)) return ['runAsUserName cannot contain control characters'];
  const parts = name.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const user = parts.at(-1)!;
  const domain = parts.length === 2 ? parts[0] : undefined;
  const problems: string[] = [];
  if ((domain ?? '').length >= MAX_DOMAIN_LENGTH) {
    problems.push(`runAsUserName's Domain length must be under ${MAX_DOMAIN_LENGTH} characters`);
  }
  if (domain !== undefined && !NET_BIOS_DOMAIN.test(domain) && !DNS_DOMAIN.test(domain)) {
    problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  }
  if (user === '') problems.push("runAsUserName's User cannot be empty");
  else if (user.length > MAX_USER_LENGTH) {
    problems.push(
      `runAsUserName's User length must not be longer than ${MAX_USER_LENGTH} characters`,
    );
  }
  if (/^[. ]+$/.test(user))
    problems.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    problems.push(
      'runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]',
    );
  }
  return problems;
}

/** Validates host processes: all containers of a pod are, or none. */
export function hostProcesses(spec: PodSpec, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  const list = allContainers(spec, at);
  let count = 0;
  for (const { container, at: path } of list) {
    const own = container.securityContext?.windowsOptions?.hostProcess;
    if (ofPod !== undefined && own !== undefined && ofPod !== own) {
      const message = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      errors.push(
        field.invalid(path.child('securityContext', 'windowsOptions', 'hostProcess'), own, message),
      );
    }
    if (own ?? ofPod === true) count++;
  }
  if (count === 0) return errors;
  if (count !== list.length) {
    const message =
      'If pod contains any hostProcess containers then all containers must be HostProcess containers';
    errors.push(field.invalid(at, '', message));
  }
  if (spec.hostNetwork !== true) {
    const message = 'hostNetwork must be true if pod contains any hostProcess containers';
    errors.push(field.invalid(at.child('hostNetwork'), false, message));
  }
  return errors;
}

/** The order is the order of the errors. */
const OF_LINUX_PODS = [
  'securityContext.appArmorProfile',
  'securityContext.seLinuxOptions',
  'hostUsers',
  'hostPID',
  'hostIPC',
  'securityContext.seccompProfile',
  'securityContext.fsGroup',
  'securityContext.fsGroupChangePolicy',
  'securityContext.sysctls',
  'shareProcessNamespace',
  'securityContext.runAsUser',
  'securityContext.runAsGroup',
  'securityContext.supplementalGroups',
  'securityContext.supplementalGroupsPolicy',
  'securityContext.seLinuxChangePolicy',
] as const;
const OF_LINUX_CONTAINERS = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const;

/** Validates the fields that the pod's operating system does not allow. */
export function operatingSystem(spec: PodSpec, at: FieldPath): FieldErrorList {
  if (spec.os === undefined) return [];
  const { name } = spec.os;
  if (name === '') return [field.required(at.child('os', 'name'))];
  if (name === 'linux') return withoutWindows(spec, at);
  if (name === 'windows') return withoutLinux(spec, at);
  return [field.notSupported(at.child('os'), name, ['linux', 'windows'])];
}

function withoutWindows(spec: PodSpec, at: FieldPath): FieldErrorList {
  return [{ container: spec, at }, ...allContainers(spec, at)].flatMap(
    ({ container, at: path }) => {
      if (container.securityContext?.windowsOptions === undefined) return [];
      return [
        field.forbidden(
          path.child('securityContext', 'windowsOptions'),
          'windows options cannot be set for a linux pod',
        ),
      ];
    },
  );
}

function withoutLinux(spec: PodSpec, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const refuse = (set: boolean, path: FieldPath): void => {
    if (set) errors.push(field.forbidden(path, 'cannot be set for a windows pod'));
  };
  const set = new Set<string>(Object.keys(spec));
  for (const name of Object.keys(spec.securityContext ?? {})) set.add(`securityContext.${name}`);
  // An empty supplementalGroups counts as set, an empty sysctls does not.
  if (spec.securityContext?.sysctls?.length === 0) set.delete('securityContext.sysctls');
  for (const name of OF_LINUX_PODS) refuse(set.has(name), at.child(name));
  for (const { container, at: path } of allContainers(spec, at)) {
    for (const name of OF_LINUX_CONTAINERS) {
      refuse(container.securityContext?.[name] !== undefined, path.child('securityContext', name));
    }
  }
  return errors;
}
